//! `get`: objects as tables or as they are, once or as they change.

use clap::Args;
use lanai_api::JsonPath;
use serde_json::Value;

use crate::client::{Accept, Client, Request, Resource, Trouble};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::output::{Formats, Output, Single, Width};
use crate::persona::Persona;
use crate::table::Table;

/// How often a watch is begun again without anything having come in between.
const MAX_EMPTY_WATCHES: usize = 5;

/// How objects are printed, as kubectl has it.
#[derive(Debug, Clone, Args)]
#[allow(clippy::struct_excessive_bools, reason = "they are flags")]
pub(crate) struct Print {
    /// How to print: yaml, json, name, wide, jsonpath=TEMPLATE or custom-columns=HEADER:PATH,…
    #[arg(short, long, value_name = "FORMAT", value_parser = Formats, hide_possible_values = true, default_value = "", hide_default_value = true)]
    pub output: Output,
    /// Leave out the line with the names of the columns
    #[arg(long)]
    pub no_headers: bool,
    /// Show the labels as the last column
    #[arg(long)]
    pub show_labels: bool,
    /// Labels that are shown as columns
    #[arg(short = 'L', long, value_name = "LABEL", value_delimiter = ',')]
    pub label_columns: Vec<String>,
    /// Show the kind before the name
    #[arg(long)]
    pub show_kind: bool,
    /// Show who owns which field
    #[arg(long)]
    pub show_managed_fields: bool,
    /// Those of all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Those with labels, as a=b,c!=d
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Sort by a field, as {.metadata.creationTimestamp}
    #[arg(long, value_name = "PATH", value_parser = Field::parse)]
    pub sort_by: Option<Field>,
    /// Go on with what changes
    #[arg(short, long)]
    pub watch: bool,
}

/// A field to sort by.
#[derive(Clone, Debug)]
pub(crate) struct Field(JsonPath);

impl Field {
    /// Reads `{.metadata.name}`, `.metadata.name` or `metadata.name`.
    fn parse(text: &str) -> Result<Self, String> {
        let bare = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let path = if bare.starts_with('.') { bare.to_owned() } else { format!(".{bare}") };
        JsonPath::parse(&path).map(Self).map_err(|error| error.to_string())
    }

    /// Where an object belongs: those without the field first, then numbers, then texts.
    fn rank(&self, object: &Value) -> (u8, i64, String) {
        match self.0.find(object).first() {
            None | Some(Value::Null) => (0, 0, String::new()),
            Some(Value::Number(number)) => (1, number.as_i64().unwrap_or_default(), number.to_string()),
            Some(Value::String(text)) => (2, 0, text.clone()),
            Some(other) => (2, 0, other.to_string()),
        }
    }
}

/// What is listed.
pub(crate) struct Listing<'a> {
    pub resource: Resource,
    pub names: &'a [String],
    pub print: &'a Print,
    /// Fields and their values.
    pub fields: Vec<(&'static str, String)>,
    pub persona: Persona,
}

impl Listing<'_> {
    /// Prints what there is, and with `--watch` what becomes of it.
    ///
    /// # Errors
    /// When the server says no; of several names, after the others were printed.
    pub fn run(&self, client: &Client, io: &mut Io<'_>) -> Result<Exit, Failure> {
        let found = self.fetch(client, io)?;
        let mut screen = Screen { listing: self, table: Table::default(), columns: Vec::new() };
        if found.objects.is_empty()
            && found.troubles.is_empty()
            && !self.print.watch
            && self.persona != Persona::Porchctl
        {
            let place = if self.print.all_namespaces {
                String::new()
            } else {
                format!(" in namespace \"{}\"", client.namespace)
            };
            io.tell(&format!("there are no {}{place}", self.resource.plural));
        }
        let text = screen.first(&found.objects)?;
        io.print(&text)?;
        let mut troubles = found.troubles.into_iter();
        if let Some(first) = troubles.next() {
            for (_, other) in troubles {
                io.tell(&format!("error: {other}"));
            }
            return Err(Failure::of(first.0, first.1));
        }
        if self.print.watch { self.follow(&mut screen, found.version, client, io) } else { Ok(Exit::Success) }
    }

    fn fetch(&self, client: &Client, io: &mut Io<'_>) -> Result<Found, Failure> {
        let accept = if self.print.output.is_table() { Accept::Table } else { Accept::Object };
        let mut found = Found::default();
        if self.names.is_empty() || self.print.watch {
            let list = client.send(&self.request(client, accept), io)?;
            let version = list["metadata"]["resourceVersion"].as_str();
            version.unwrap_or_default().clone_into(&mut found.version);
            found.objects = split(&list, self.resource);
            found.objects.retain(|row| self.is_meant(row));
            self.sort(&mut found.objects);
            // Nobody waits for what is not there.
            let is_missing = |name: &&String| !found.objects.iter().any(|row| row.name() == name.as_str());
            let missing: Vec<&String> = self.names.iter().filter(is_missing).collect();
            self.read(&missing, accept, client, &mut found, io)?;
            return Ok(found);
        }
        let all: Vec<&String> = self.names.iter().collect();
        self.read(&all, accept, client, &mut found, io)?;
        self.sort(&mut found.objects);
        Ok(found)
    }

    /// Whether it is one of those that were named, where some were.
    fn is_meant(&self, row: &Row) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == row.name())
    }

    /// Reads one after another.
    fn read(
        &self,
        names: &[&String],
        accept: Accept,
        client: &Client,
        found: &mut Found,
        io: &mut Io<'_>,
    ) -> Result<(), Failure> {
        for name in names {
            let path = self.resource.one(&client.namespace, name);
            let doing = format!("reading {} {name}", self.resource.singular);
            match client.send(&self.whole(Request::get(path, doing).accept(accept)), io) {
                Ok(object) => found.objects.extend(split(&object, self.resource)),
                Err(Trouble::Stopped) => return Err(Trouble::Stopped.into()),
                Err(trouble) => found.troubles.push((trouble.code(), self.told(name, &trouble))),
            }
        }
        Ok(())
    }

    fn sort(&self, objects: &mut [Row]) {
        if let Some(field) = &self.print.sort_by {
            objects.sort_by_key(|row| field.rank(&row.object));
        }
    }

    /// The text for something that could not be had.
    fn told(&self, name: &str, trouble: &Trouble) -> String {
        let words = match (self.persona, trouble) {
            (Persona::Porchctl, Trouble::Refused(refusal)) if self.resource.group == "porch.kpt.dev" => {
                match refusal.code {
                    404 => Some("the server could not find the requested resource"),
                    500.. => {
                        Some("an error on the server (\"unknown\") has prevented the request from succeeding")
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        match words {
            Some(words) => format!("{words} (get {} {name})", self.resource.qualified()),
            None => trouble.to_string(),
        }
    }

    fn request(&self, client: &Client, accept: Accept) -> Request {
        let namespace = (!self.print.all_namespaces).then_some(client.namespace.as_str());
        let doing = format!("listing {}", self.resource.plural);
        let mut request = Request::get(self.resource.all(namespace), doing).accept(accept);
        let mut fields: Vec<String> =
            self.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if let [name] = self.names {
            fields.push(format!("metadata.name={name}"));
        }
        if !fields.is_empty() {
            request = request.query("fieldSelector", fields.join(","));
        }
        if let Some(selector) = &self.print.selector {
            request = request.query("labelSelector", selector.as_str());
        }
        self.whole(request)
    }

    /// Rows of tables come with what they are sorted by.
    fn whole(&self, request: Request) -> Request {
        match &self.print.sort_by {
            Some(_) if self.print.output.is_table() => request.query("includeObject", "Object"),
            _ => request,
        }
    }

    /// Prints what changes until the command is to end.
    fn follow(
        &self,
        screen: &mut Screen<'_>,
        mut version: String,
        client: &Client,
        io: &mut Io<'_>,
    ) -> Result<Exit, Failure> {
        let accept = if self.print.output.is_table() { Accept::Table } else { Accept::Object };
        let mut empty = 0;
        while empty < MAX_EMPTY_WATCHES {
            let mut request =
                self.request(client, accept).query("watch", "true").query("allowWatchBookmarks", "true");
            if !version.is_empty() {
                request = request.query("resourceVersion", version.as_str());
            }
            let watching = client.watch(&request, io)?;
            empty += 1;
            while let Some(event) = watching.next(io)? {
                let object = &event["object"];
                let kind = event["type"].as_str().unwrap_or_default();
                if kind == "ERROR" {
                    // What was missed is in the list.
                    let found = self.fetch(client, io)?;
                    version = found.version;
                    io.print(&screen.more(&found.objects)?)?;
                    break;
                }
                empty = 0;
                for object in split(object, self.resource) {
                    let seen = object.object["metadata"]["resourceVersion"].as_str();
                    seen.unwrap_or_default().clone_into(&mut version);
                    if kind != "BOOKMARK" && self.is_meant(&object) {
                        io.print(&screen.more(&[object])?)?;
                    }
                }
            }
        }
        Err(Failure::of(Code::Unreachable, format!("{} ends every watch at once", client.server())))
    }
}

#[derive(Default)]
struct Found {
    objects: Vec<Row>,
    /// Where the watch goes on.
    version: String,
    troubles: Vec<(Code, String)>,
}

/// An object, and how the server would show it.
struct Row {
    object: Value,
    columns: Vec<Value>,
    cells: Vec<Value>,
}

impl Row {
    fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }
}

/// The objects of an answer: a table, a list, or one.
fn split(answer: &Value, resource: Resource) -> Vec<Row> {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let kind = answer["kind"].as_str().unwrap_or_default();
    if kind == "Table" {
        let columns = array(&answer["columnDefinitions"]);
        let rows = answer["rows"].as_array().into_iter().flatten();
        return rows
            .map(|row| Row {
                object: row["object"].clone(),
                columns: columns.clone(),
                cells: array(&row["cells"]),
            })
            .collect();
    }
    let plain = |object: &Value| {
        let mut object = object.clone();
        if object.get("kind").is_none() {
            object["apiVersion"] = resource.api_version().into();
            object["kind"] = resource.kind.into();
        }
        let cells = vec![object["metadata"]["name"].clone()];
        Row { object, columns: vec![serde_json::json!({"name": "Name"})], cells }
    };
    match answer["items"].as_array() {
        Some(items) if kind.ends_with("List") => items.iter().map(plain).collect(),
        _ => vec![plain(answer)],
    }
}

/// What was printed, so that later lines fit to it.
struct Screen<'a> {
    listing: &'a Listing<'a>,
    table: Table,
    columns: Vec<Value>,
}

impl Screen<'_> {
    fn first(&mut self, objects: &[Row]) -> Result<String, Failure> {
        let print = self.listing.print;
        if !print.output.is_table() {
            if print.watch {
                return self.more(objects);
            }
            if objects.is_empty() && !self.listing.names.is_empty() {
                return Ok(String::new());
            }
            let single = if self.listing.names.len() == 1 { Single::Yes } else { Single::No };
            let objects: Vec<Value> = objects.iter().map(|object| self.shown(object)).collect();
            return print.output.text(self.listing.resource, &objects, single);
        }
        let Some(first) = objects.first() else { return Ok(String::new()) };
        self.columns.clone_from(&first.columns);
        let mut rows = Vec::new();
        if !print.no_headers {
            rows.push(self.header());
        }
        rows.extend(objects.iter().map(|object| self.row(object)));
        Ok(self.table.lines(&rows))
    }

    fn more(&mut self, objects: &[Row]) -> Result<String, Failure> {
        let print = self.listing.print;
        if !print.output.is_table() {
            let mut text = String::new();
            for object in objects {
                if print.output == Output::Yaml {
                    text += "---\n";
                }
                text += &print.output.text(self.listing.resource, &[self.shown(object)], Single::Yes)?;
            }
            return Ok(text);
        }
        if self.columns.is_empty() {
            return self.first(objects);
        }
        let rows: Vec<Vec<String>> = objects.iter().map(|object| self.row(object)).collect();
        Ok(self.table.lines(&rows))
    }

    fn shown(&self, object: &Row) -> Value {
        let mut object = object.object.clone();
        if let (false, Some(metadata)) =
            (self.listing.print.show_managed_fields, object["metadata"].as_object_mut())
        {
            metadata.shift_remove("managedFields");
        }
        object
    }

    /// Whether a column is shown.
    fn is_shown(&self, column: &Value) -> bool {
        let is_wide = self.listing.print.output == Output::Table(Width::Wide);
        // Scripts for porchctl know the columns that Porch has.
        let is_porch =
            self.listing.persona == Persona::Porchctl && self.listing.resource.group == "porch.kpt.dev";
        if is_porch && !is_wide && column["name"] == "Age" {
            return false;
        }
        is_wide || column["priority"].as_i64().unwrap_or_default() == 0
    }

    fn header(&self) -> Vec<String> {
        let print = self.listing.print;
        let mut row = Vec::new();
        if print.all_namespaces {
            row.push("NAMESPACE".to_owned());
        }
        let shown = self.columns.iter().filter(|column| self.is_shown(column));
        row.extend(shown.map(|column| column["name"].as_str().unwrap_or_default().to_uppercase()));
        let last = |label: &String| label.rsplit('/').next().unwrap_or_default().to_uppercase();
        row.extend(print.label_columns.iter().map(last));
        if print.show_labels {
            row.push("LABELS".to_owned());
        }
        row
    }

    fn row(&self, object: &Row) -> Vec<String> {
        let print = self.listing.print;
        let metadata = &object.object["metadata"];
        let mut row = Vec::new();
        if print.all_namespaces {
            row.push(metadata["namespace"].as_str().unwrap_or_default().to_owned());
        }
        for (at, (column, cell)) in self.columns.iter().zip(&object.cells).enumerate() {
            if self.is_shown(column) {
                let kind = if print.show_kind && at == 0 {
                    format!("{}.{}/", self.listing.resource.singular, self.listing.resource.group)
                } else {
                    String::new()
                };
                row.push(kind + &cell_text(cell));
            }
        }
        for label in &print.label_columns {
            row.push(metadata["labels"][label.as_str()].as_str().unwrap_or_default().to_owned());
        }
        if print.show_labels {
            let labels = metadata["labels"].as_object();
            let mut pairs: Vec<String> = labels
                .into_iter()
                .flatten()
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
                .collect();
            pairs.sort();
            row.push(if pairs.is_empty() { "<none>".into() } else { pairs.join(",") });
        }
        row
    }
}

/// A cell on one line.
fn cell_text(cell: &Value) -> String {
    let text = match cell {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.split_once(['\n', '\r']) {
        Some((first, _)) => format!("{first}..."),
        None => text,
    }
}
