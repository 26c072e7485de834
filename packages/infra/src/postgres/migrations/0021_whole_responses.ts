/** Responses without their output; null in those of earlier releases, which are continued and not read. */
export default String.raw`
alter table model_responses add column response jsonb;
`
