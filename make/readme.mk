# What the README shows is what the program prints.
WHY ?= job-0361

## readme: replay the default day, and put what it prints into README.md
.PHONY: readme
readme: build
	bin/gridbid replay --run bin/readme > bin/readme.table
	bin/gridbid why $(WHY) --run bin/readme > bin/readme.why
	@for mark in replay:table why:why; do \
		awk -v mark="$${mark%%:*}" -v text="bin/readme.$${mark##*:}" ' \
			$$0 == "<!-- /" mark " -->" { skip = 0 } \
			!skip { print } \
			$$0 == "<!-- " mark " -->" { skip = 1; print "```"; while ((getline line < text) > 0) print line; print "```" } \
		' README.md > bin/README.md && cp bin/README.md README.md; \
	done
	rm -r bin/readme bin/readme.table bin/readme.why bin/README.md
	git diff --stat README.md
