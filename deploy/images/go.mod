module github.com/gridbid/gridbid/deploy/images

go 1.26.0

require github.com/google/go-containerregistry v0.21.7

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/klauspost/compress v1.18.6 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
)
