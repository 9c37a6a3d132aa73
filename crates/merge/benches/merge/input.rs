//! Packages of some shapes.

use std::fmt::Write;

use lanai_krm::Package;
use lanai_krm::package::File;
use lanai_types::Limits;

/// Packages that grow.
#[derive(Clone, Copy)]
pub struct Shape {
    pub name: &'static str,
    pub sizes: [usize; 2],
    /// Original, upstream and local.
    pub make: fn(usize) -> [Package; 3],
}

pub const SHAPES: [Shape; 8] = [
    Shape {
        name: "resources, 5 in a file, 60% changed upstream, 20% here",
        sizes: [1_000, 10_000],
        make: typical,
    },
    Shape { name: "resources in one file, the same", sizes: [1_000, 10_000], make: one_file },
    Shape { name: "items of one list by key, the same", sizes: [1_000, 10_000], make: one_list },
    Shape { name: "keys of one mapping, the same", sizes: [1_000, 10_000], make: one_mapping },
    Shape {
        name: "items of one list, one of two removed, as many added",
        sizes: [1_000, 10_000],
        make: renewed_list,
    },
    Shape {
        name: "keys of one mapping, one of two removed, as many added",
        sizes: [10_000, 40_000],
        make: renewed_mapping,
    },
    Shape { name: "files, none changed", sizes: [1_000, 10_000], make: unchanged },
    Shape { name: "lines of one text, the same", sizes: [10_000, 100_000], make: text },
];

/// Which version of a package is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Original,
    Upstream,
    Local,
}

const SIDES: [Side; 3] = [Side::Original, Side::Upstream, Side::Local];

impl Side {
    /// Whether the side changed number `at`: upstream six of ten, local two of ten, both one of ten.
    fn changed(self, at: usize) -> bool {
        match self {
            Self::Original => false,
            Self::Upstream => at % 10 < 6,
            Self::Local => (5..7).contains(&(at % 10)),
        }
    }
}

fn package(files: Vec<(String, String)>) -> Package {
    let files = files.into_iter().map(|(path, text)| (path, File::from_text(text)));
    Package::from_entries(files, Limits::default()).expect("within the limits")
}

fn deployment(out: &mut String, at: usize, side: Side) {
    let tag = if side == Side::Upstream && side.changed(at) { "v2" } else { "v1" };
    let replicas = if side == Side::Local && side.changed(at) { 5 } else { 1 };
    let more = if side == Side::Upstream && at % 10 == 5 {
        "\n        - name: NEW\n          value: \"1\""
    } else {
        ""
    };
    write!(
        out,
        "# Deployment number {at}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{at}
  labels:
    app: app-{at} # what selects it
spec:
  # how many there are
  replicas: {replicas}
  selector:
    matchLabels:
      app: app-{at}
  template:
    metadata:
      labels:
        app: app-{at}
    spec:
      containers:
      # the main one
      - name: main
        image: registry.example.com/app:{tag} # {{\"$ref\": \"tag\"}}
        ports:
        - containerPort: 8080
        env:
        - name: LEVEL
          value: info{more}
        resources:
          limits:
            cpu: 100m
            memory: 128Mi
"
    )
    .expect("a string");
}

fn typical(size: usize) -> [Package; 3] {
    SIDES.map(|side| {
        let file = |number: usize| {
            let mut text = String::new();
            for at in number * 5..(number * 5 + 5).min(size) {
                if at > number * 5 {
                    text.push_str("---\n");
                }
                deployment(&mut text, at, side);
            }
            (format!("d{}/f{number}.yaml", number % 20), text)
        };
        package((0..size.div_ceil(5)).map(file).collect())
    })
}

fn one_file(size: usize) -> [Package; 3] {
    SIDES.map(|side| {
        let mut text = String::new();
        for at in 0..size {
            if at > 0 {
                text.push_str("---\n");
            }
            deployment(&mut text, at, side);
        }
        package(vec![("all.yaml".into(), text)])
    })
}

fn one_list(size: usize) -> [Package; 3] {
    SIDES.map(|side| {
        let mut text = String::from(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: c\n    env:\n",
        );
        for at in 0..size {
            let value = if side.changed(at) { side as usize } else { 0 };
            writeln!(text, "    # number {at}\n    - name: V{at}\n      value: \"{value}\"")
                .expect("a string");
        }
        package(vec![("pod.yaml".into(), text)])
    })
}

fn one_mapping(size: usize) -> [Package; 3] {
    SIDES.map(|side| {
        let mut text = String::from("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n");
        for at in 0..size {
            let value = if side.changed(at) { side as usize } else { 0 };
            writeln!(text, "  key-{at}: \"{value}\" # number {at}").expect("a string");
        }
        package(vec![("map.yaml".into(), text)])
    })
}

/// The numbers that a side has: upstream removed each second one, and added another behind each that stayed. Local changed
/// nothing that upstream changed, so that only one number is its own.
fn renewed(side: Side, count: usize) -> Vec<String> {
    let name = |at: usize| match (side, at % 2) {
        (Side::Upstream, 1) => format!("N{at}"),
        (Side::Original | Side::Upstream | Side::Local, _) => format!("V{at}"),
    };
    (0..count).map(name).chain((side == Side::Local).then(|| "OWN".to_owned())).collect()
}

fn renewed_list(size: usize) -> [Package; 3] {
    SIDES.map(|side| {
        let mut text = String::from(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: c\n    env:\n",
        );
        for name in renewed(side, size) {
            writeln!(text, "    - name: {name}\n      value: \"1\"").expect("a string");
        }
        package(vec![("pod.yaml".into(), text)])
    })
}

fn renewed_mapping(size: usize) -> [Package; 3] {
    SIDES.map(|side| {
        let mut text = String::from("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n");
        for name in renewed(side, size) {
            writeln!(text, "  {name}: \"1\"").expect("a string");
        }
        package(vec![("map.yaml".into(), text)])
    })
}

fn unchanged(size: usize) -> [Package; 3] {
    let file = |at: usize| {
        let mut text = String::new();
        deployment(&mut text, at, Side::Original);
        (format!("d{}/f{at}.yaml", at % 100), text)
    };
    let package = package((0..size).map(file).collect());
    [package.clone(), package.clone(), package]
}

fn text(size: usize) -> [Package; 3] {
    SIDES.map(|side| {
        let mut text = String::new();
        for at in 0..size {
            // Changes of the sides do not touch.
            let changed = match side {
                Side::Original => false,
                Side::Upstream => at % 10 < 3,
                Side::Local => at % 10 == 6,
            };
            writeln!(text, "line {at} {}", if changed { side as usize } else { 0 }).expect("a string");
        }
        package(vec![("README.md".into(), text)])
    })
}
