// Package yamlschema reads YAML that people write: what the schema does not know is an
// error, and each error names the file, the line, the key, and what to do.
package yamlschema
