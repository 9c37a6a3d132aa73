//! Requests that no store takes, found before any back end is asked.

use std::collections::BTreeSet;

use lanai_types::{ByteSize, Sha256Digest};

use crate::error::Invalid;
use crate::key::MAX_PART;
use crate::{
    Attribute, Attributes, Claim, Filter, Key, Limits, Object, Requirement, Subject, Test, Transaction,
};

/// Checks what can be checked without looking at the store.
pub(crate) fn transaction(transaction: &Transaction, limits: &Limits) -> Result<(), Invalid> {
    let writes = &transaction.writes;
    if writes.is_empty() {
        return Err(Invalid::Empty);
    }
    if writes.len() > limits.max_writes {
        return Err(Invalid::TooManyWrites { found: writes.len(), limit: limits.max_writes });
    }
    let conditions = transaction.conditions.len();
    if conditions > limits.max_conditions {
        return Err(Invalid::TooManyConditions { found: conditions, limit: limits.max_conditions });
    }
    let mut keys = BTreeSet::new();
    let mut named: BTreeSet<Sha256Digest> = BTreeSet::new();
    let mut total = 0;
    for write in writes {
        if !keys.insert(write.key()) {
            return Err(Invalid::WrittenTwice { key: write.key().clone() });
        }
        if let Some(object) = write.object() {
            total += check_object(write.key(), object, limits)?;
            named.extend(&object.blobs);
        }
    }
    for blob in &transaction.blobs {
        let found = size(blob.content().len());
        if found > limits.max_blob {
            return Err(Invalid::BlobTooLarge { digest: blob.digest(), found, limit: limits.max_blob });
        }
        if !named.contains(&blob.digest()) {
            return Err(Invalid::BlobUnnamed { digest: blob.digest() });
        }
        total += found.get();
    }
    let found = ByteSize::bytes(total);
    if found > limits.max_transaction {
        return Err(Invalid::TransactionTooLarge { found, limit: limits.max_transaction });
    }
    Ok(())
}

/// Checks who wants a lease.
pub(crate) fn claim(claim: &Claim) -> Result<(), Invalid> {
    check_name("holder", &claim.holder)
}

/// A text of a lease.
pub(crate) fn check_name(what: &'static str, raw: &str) -> Result<(), Invalid> {
    if raw.is_empty() || raw.len() > MAX_PART || raw.contains(char::is_control) {
        let problem = "is not a text of 1 to 512 bytes without control characters";
        return Err(Invalid::Name { what, raw: raw.to_owned(), problem });
    }
    Ok(())
}

/// Checks what is looked for.
pub(crate) fn filter(filter: &Filter) -> Result<(), Invalid> {
    let has_nul = |requirement: &Requirement| {
        let (Subject::Label(name) | Subject::Field(name)) = &requirement.subject;
        let has_nul = match &requirement.test {
            Test::Equals(value) => value.contains('\0'),
            Test::In(values) | Test::NotIn(values) => values.iter().any(|value| value.contains('\0')),
            Test::Exists | Test::Absent => false,
        };
        has_nul || name.contains('\0')
    };
    if filter.selector.requirements.iter().any(has_nul) {
        return Err(Invalid::SelectorWithNul);
    }
    Ok(())
}

fn check_object(key: &Key, object: &Object, limits: &Limits) -> Result<u64, Invalid> {
    let value = size(object.value.len());
    if value > limits.max_value {
        return Err(Invalid::ValueTooLarge { key: key.clone(), found: value, limit: limits.max_value });
    }
    let attributes = attributes_size(&object.attributes);
    if attributes > limits.max_attributes {
        let limit = limits.max_attributes;
        return Err(Invalid::AttributesTooLarge { key: key.clone(), found: attributes, limit });
    }
    for Attribute { name, value, .. } in object.attributes.all() {
        let (found, limit) = (size(name.len() + value.len()), limits.max_attribute);
        if found > limit {
            return Err(Invalid::AttributeTooLarge { key: key.clone(), found, limit });
        }
        if name.contains('\0') || value.contains('\0') {
            return Err(Invalid::AttributeWithNul { key: key.clone() });
        }
    }
    let blobs = object.blobs.len();
    if blobs > limits.max_blobs {
        return Err(Invalid::TooManyBlobs { key: key.clone(), found: blobs, limit: limits.max_blobs });
    }
    Ok(value.get() + attributes.get())
}

fn attributes_size(attributes: &Attributes) -> ByteSize {
    size(attributes.all().map(|one| one.name.len() + one.value.len()).sum())
}

const fn size(bytes: usize) -> ByteSize {
    ByteSize::bytes(bytes as u64)
}
