/** A message of a client is known by its id and its content. */
export default String.raw`
alter table a2a_tasks
  add column content_hash text not null generated always as (md5(content::text)) stored,
  drop constraint a2a_tasks_message_key;
alter table a2a_tasks
  add constraint a2a_tasks_message_key unique (agent_id, caller_id, client_message_id, content_hash);
`
