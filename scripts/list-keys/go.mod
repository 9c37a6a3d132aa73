module lanai.dev/list-keys

go 1.24.0
