/** The stored responses over 16 KiB of a principal, which its quota counts. */
export default String.raw`
create index idempotency_keys_large_of_principal on idempotency_keys (principal_hash)
  where octet_length(response_sealed) > 16384;
`
