//! Streams of Kubernetes manifests as people write them, made from a seed.

mod kinds;
mod page;

use page::Page;

/// A stream of `documents` manifests, the same for the same seed on every machine.
///
/// The documents are Deployments, Services, `ConfigMaps` with block scalars, roles, Ingresses, small definitions of custom
/// resources and service accounts, with comments above, beside and below, sequences indented and not, and strings
/// plain, quoted and in flow collections. A document has about 425 bytes on average: 12,000 make about 5 MB.
/// Documents are separated by `---`; every one is a mapping with `apiVersion`, `kind` and `metadata.name`, and no two
/// of one stream have the same name.
pub fn manifests(seed: u64, documents: usize) -> String {
    let mut page = Page::new(seed);
    for number in 0..documents {
        if number > 0 {
            page.line(0, "---");
        }
        page.new_document();
        kinds::write_any(&mut page, number);
    }
    page.into_text()
}
