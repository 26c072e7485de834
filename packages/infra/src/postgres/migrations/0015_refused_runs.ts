/** Refused times of schedules without separate runs. */
export default String.raw`
alter table agent_runs add column repeats integer not null default 0 check (repeats >= 0);
`
