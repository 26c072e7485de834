/** The agent and the model of a charge whose conversation is deleted. */
export default String.raw`
alter table reservations add column agent_id text, add column model text;
`
