/**
 * The newest answered messages of an agent, read in the order of their index. A planner without statistics of the
 * table reads and sorts all messages of the agent.
 */
export default String.raw`
create function newest_messages(agent text, maximum integer) returns setof messages
language plpgsql stable parallel safe strict rows 200
set search_path from current
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
as $$
begin
  return query
    select * from messages where agent_id = agent and state = 'answered' order by created_at desc limit maximum;
end
$$;
`
