{{- /* The port of a URL. */}}
{{- define "port" -}}
{{- $u := urlParse . -}}
{{- if contains ":" $u.host }}{{ last (splitList ":" $u.host) }}{{ else if eq $u.scheme "http" }}80{{ else }}443{{ end -}}
{{- end }}

{{- /* Secrets of the registry that the images come from. */}}
{{- define "pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end }}
