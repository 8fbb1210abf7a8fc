{{- /* The port of a URL. */}}
{{- define "port" -}}
{{- $u := urlParse . -}}
{{- if contains ":" $u.host }}{{ last (splitList ":" $u.host) }}{{ else if eq $u.scheme "http" }}80{{ else }}443{{ end -}}
{{- end }}
