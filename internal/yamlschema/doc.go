// Package yamlschema reads YAML configuration files against a JSON schema. Unknown
// keys are errors, and each error names the file, the line, the key, and what to do.
package yamlschema
