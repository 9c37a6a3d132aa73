//! Ids, digests, safe names, the lifecycle table and limits.
