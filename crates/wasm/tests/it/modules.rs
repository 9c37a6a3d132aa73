//! Modules that do what they are for, and things that are no modules.

use std::fs;
use std::io::Write as _;
use std::slice::from_ref;

use flate2::Compression;
use flate2::write::GzEncoder;
use lanai_evaluate::{Error, Failing};
use lanai_types::Sha256Digest;
use lanai_wasm::{Program, WasmLimits};
use ring::digest::{SHA256, digest};

use crate::{Desk, WEB, failed, granted, request, soon};

#[tokio::test]
async fn the_list_goes_through_the_module() {
    let desk = Desk::new("(call $copy)");
    let wasm = desk.wasm();
    for _ in 0..3 {
        let response = wasm.run(desk.program(), request(), &soon()).await.unwrap();
        assert_eq!(response.list.items[0].to_string(), WEB);
        assert_eq!((response.evaluator, response.stderr.as_str(), response.exit_code), ("wasm", "", 0));
    }
    assert_eq!(wasm.kept(), 1, "it is compiled once");
    let before = wasm.digest(&desk.path()).await.unwrap();
    desk.write("(call $copy) (nop)");
    assert_ne!(wasm.digest(&desk.path()).await.unwrap(), before);
    wasm.run(desk.program(), request(), &soon()).await.unwrap();
    assert_eq!(wasm.kept(), 2, "another content is another module");
}

#[tokio::test]
async fn modules_that_were_not_used_for_longest_go() {
    let mut desk = Desk::new("(call $copy)");
    desk.limits.max_modules = 2;
    let wasm = desk.wasm();
    for count in 0..4 {
        desk.write(&format!("{} (call $copy)", "(nop)".repeat(count)));
        wasm.run(desk.program(), request(), &soon()).await.unwrap();
    }
    assert_eq!(wasm.kept(), 2);
}

#[tokio::test]
async fn each_call_has_an_instance_of_its_own() {
    // It would say so if it found what it had written before.
    let desk = Desk::new(
        "(if (i32.load (i32.const 100000)) (then (call $exit (i32.const 9)))) (i32.store (i32.const 100000) (i32.const 1)) (call $copy)",
    );
    let wasm = desk.wasm();
    for _ in 0..3 {
        wasm.run(desk.program(), request(), &soon()).await.unwrap();
    }
}

#[tokio::test]
async fn a_failure_keeps_code_results_and_messages() {
    let list = "apiVersion: config.kubernetes.io/v1\\0akind: ResourceList\\0aitems: []\\0aresults:\\0a- message: it is broken\\0a  severity: error\\0a";
    let length = list.replace("\\0a", "n").len();
    let module = format!(
        "(module {} (data (i32.const 2000) \"why\\0a\") (data (i32.const 3000) \"{list}\") \
         (func (export \"_start\") (call $say (i32.const 2) (i32.const 2000) (i32.const 4)) \
         (call $say (i32.const 1) (i32.const 3000) (i32.const {length})) (call $exit (i32.const 3))))",
        crate::PRELUDE
    );
    let desk = Desk::new("");
    desk.put(&wat::parse_str(module).unwrap());
    let error = failed(desk.run().await.unwrap_err());
    assert_eq!((error.why.clone(), error.exit_code), (Failing::Exit(3), 3));
    assert_eq!((error.results[0].message.as_str(), error.stderr.as_str()), ("it is broken", "why\n"));
    desk.write("");
    assert_eq!(failed(desk.run().await.unwrap_err()).why, Failing::Silent);
    desk.write("unreachable");
    let error = failed(desk.run().await.unwrap_err());
    assert!(matches!(&error.why, Failing::Trap(what) if what.contains("unreachable")), "{error:?}");
}

#[tokio::test]
async fn variables_are_those_that_are_granted() {
    // It ends with the number of its variables, or writes them.
    let desk = Desk::new(
        "(drop (call $sizes (i32.const 2000) (i32.const 2004))) \
         (drop (call $environ (i32.const 3000) (i32.const 4000))) \
         (call $say (i32.const 2) (i32.const 4000) (i32.load (i32.const 2004))) \
         (call $exit (i32.load (i32.const 2000)))",
    );
    // None is a success without a word.
    assert_eq!(failed(desk.run().await.unwrap_err()).why, Failing::Silent);
    let ran = desk.wasm().run(desk.program(), granted("EXTRA", "a b=c"), &soon()).await;
    let error = failed(ran.unwrap_err());
    assert_eq!((error.why, error.stderr.as_str()), (Failing::Exit(1), "EXTRA=a b=c\0"));
}

#[tokio::test]
async fn what_is_no_module_of_this_kind_is_refused() {
    let desk = Desk::new("");
    let check = async |module: &[u8], expected: &str| {
        desk.put(module);
        let error = desk.run().await.unwrap_err();
        assert!(matches!(&error, Error::Refused(why) if why.contains(expected)), "{error:?}");
    };
    let text = |text: &str| wat::parse_str(text).unwrap();
    let kpts = "kpt's own WASM interface";
    check(&text("(module (import \"gojs\" \"runtime.wasmExit\" (func (param i32))))"), kpts).await;
    check(&text("(module (import \"go\" \"debug\" (func (param i32))))"), kpts).await;
    check(&text("(module (func (export \"processResourceList\")))"), kpts).await;
    check(&text("(module)"), "no function _start").await;
    let name = "(module (import \"wasi_snapshot_preview1\" \"fd_dup\" (func)) (func (export \"_start\")))";
    check(&text(name), "wasi_snapshot_preview1::fd_dup").await;
    let kind = "(module (import \"wasi_snapshot_preview1\" \"fd_close\" (func)) (func (export \"_start\")))";
    check(&text(kind), "wasi_snapshot_preview1::fd_close").await;
    let absent =
        "(module (import \"wasi_snapshot_preview1\" \"path_open\" (func)) (func (export \"_start\")))";
    check(&text(absent), "\"path_open\" of wasi_snapshot_preview1 as something that it is not").await;
    let takes = "(module (func (export \"_start\") (param i32)))";
    check(&text(takes), "its function _start takes or gives something").await;
    check(&text("(module (memory i64 1) (func (export \"_start\")))"), "it is no module").await;
    let env = "(module (import \"env\" \"f\" (func)) (func (export \"_start\")))";
    check(&text(env), "it needs \"f\" of \"env\"").await;
    check(&text("(component)"), "it is a component").await;
    check(b"#!/bin/sh\n", "it is no module").await;
    check(b"", "it is no module").await;
    fs::remove_file(desk.path()).unwrap();
    let error = desk.run().await.unwrap_err();
    assert!(matches!(&error, Error::Infrastructure(why) if why.contains("No such file")), "{error:?}");
}

/// Writes a part of a layout, and returns its digest and size as a descriptor says them.
fn blob(desk: &Desk, kind: &str, content: &[u8]) -> String {
    let digest = digest(&SHA256, content).as_ref().try_into().unwrap();
    let hex = Sha256Digest::from_bytes(digest).to_hex();
    let blobs = desk.folder.path().join("image/blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    fs::write(blobs.join(&hex), content).unwrap();
    format!("{{\"mediaType\":\"{kind}\",\"digest\":\"sha256:{hex}\",\"size\":{}}}", content.len())
}

fn layout(desk: &Desk, layers: &[String]) {
    let manifest = format!("{{\"schemaVersion\":2,\"layers\":[{}]}}", layers.join(","));
    let manifest = blob(desk, "application/vnd.oci.image.manifest.v1+json", manifest.as_bytes());
    let index = format!("{{\"schemaVersion\":2,\"manifests\":[{manifest}]}}");
    fs::write(desk.folder.path().join("image/index.json"), index).unwrap();
}

#[tokio::test]
async fn a_module_can_be_the_layer_of_an_image() {
    let desk = Desk::new("(call $copy)");
    let (module, image) = (fs::read(desk.path()).unwrap(), desk.folder.path().join("image"));
    let program = || Program { path: image.clone(), ..Program::default() };
    let plain = blob(&desk, "application/wasm", &module);
    layout(&desk, from_ref(&plain));
    let wasm = desk.wasm();
    wasm.run(program(), request(), &soon()).await.unwrap();

    // As an archive of one file, as builders of images make it.
    let mut header = [0; 512];
    header[..7].copy_from_slice(b"fn.wasm");
    header[124..135].copy_from_slice(format!("{:011o}", module.len()).as_bytes());
    header[156] = b'0';
    let mut archive = GzEncoder::new(Vec::new(), Compression::fast());
    archive.write_all(&header).unwrap();
    archive.write_all(&module).unwrap();
    archive.write_all(&vec![0; module.len().next_multiple_of(512) - module.len() + 1024]).unwrap();
    let packed = blob(&desk, "application/vnd.oci.image.layer.v1.tar+gzip", &archive.finish().unwrap());
    layout(&desk, from_ref(&packed));
    wasm.run(program(), request(), &soon()).await.unwrap();
    assert_eq!(wasm.kept(), 1, "it is the same module");

    let check = async |layers: &[String], expected: &str| {
        layout(&desk, layers);
        let error = wasm.run(program(), request(), &soon()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&[plain.clone(), packed], "2 layers, and one is needed").await;
    check(&[blob(&desk, "text/plain", b"a")], "neither a module nor an archive").await;
    check(&[plain.replace("sha256:", "sha256:0")], "does not have 64").await;
    let name = plain.split("sha256:").nth(1).unwrap().split('"').next().unwrap().to_owned();
    fs::write(image.join("blobs/sha256").join(name), b"else").unwrap();
    check(&[plain], "is damaged").await;
}

#[tokio::test]
async fn a_module_that_is_too_large_is_not_read() {
    let mut desk = Desk::new("(call $copy)");
    let size = fs::metadata(desk.path()).unwrap().len();
    desk.limits.max_module = lanai_types::ByteSize::bytes(size);
    desk.run().await.unwrap();
    desk.limits = WasmLimits { max_module: lanai_types::ByteSize::bytes(size - 1), ..desk.limits };
    assert!(desk.run().await.unwrap_err().to_string().contains("max_module"));
}
