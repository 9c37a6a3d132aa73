//! scratch
fn main() {
    let text = lanai_testkit::manifests(1, 12_000);
    let mb = text.len() as f64 / 1e6;
    let arc: std::sync::Arc<str> = text.clone().into();
    let mut best = f64::MAX;
    for _ in 0..7 {
        let t = std::time::Instant::now();
        let s = lanai_yaml::Stream::parse(arc.clone()).unwrap();
        let e = t.elapsed().as_secs_f64();
        std::hint::black_box(&s);
        best = best.min(e);
    }
    println!("lanai read {:.1} MB/s of {mb:.2} MB", mb / best);
    let mut best = f64::MAX;
    for _ in 0..3 {
        let t = std::time::Instant::now();
        let n = granit_parser::Parser::new_from_str(&text).count();
        std::hint::black_box(n);
        best = best.min(t.elapsed().as_secs_f64());
    }
    println!("granit events {:.1} MB/s", mb / best);
}
