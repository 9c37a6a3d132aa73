module lanai.dev/schemas

go 1.24.0
