/** One thing heard of a streamed answer, a chunk of it in the vendor's own words. */
export type VendorEvent<Chunk> =
  { readonly type: "keep-alive" } | { readonly type: "chunk"; readonly chunk: Chunk } | { readonly type: "done" }
