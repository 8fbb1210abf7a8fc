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

# In README.md the mark is followed by the command, the table against home-fifo and the sentence
# about chance, as `bench days` prints them.
## readme-chance: replay the default day with eight draws of its jobs, and put what is chance into README.md (minutes)
.PHONY: readme-chance
readme-chance: build
	bin/gridbid bench days six-regions --draws 8 --policies auction,chance,home-fifo,k8s-least-allocated,cheapest-now,greenest-now --out .gridbid/readme-chance > bin/readme.days
	@{ echo '`gridbid bench days six-regions --draws 8`, against `home-fifo`:'; echo; \
		awk '/^##/ { on = $$0 == "### Against home-fifo" } on && /^\|/' bin/readme.days; echo; grep '^Chance: ' bin/readme.days; } > bin/readme.chance
	@awk -v text=bin/readme.chance ' \
		$$0 == "<!-- /chance -->" { skip = 0 } \
		!skip { print } \
		$$0 == "<!-- chance -->" { skip = 1; while ((getline line < text) > 0) print line } \
	' README.md > bin/README.md && cp bin/README.md README.md
	rm bin/readme.days bin/readme.chance bin/README.md
	git diff --stat README.md
