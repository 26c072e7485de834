/** A turn outlives its agent, so that its end settles its reservation. */
export default String.raw`
alter table turns drop constraint turns_agent_id_fkey;
`
