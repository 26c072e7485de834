/** Counts pending messages in its own snapshot, so that a statement that waited for a lock counts what others committed. */
export default String.raw`
create function count_pending_messages(of_owner text, in_session text)
returns table (of_session integer, of_user integer)
language sql volatile
set search_path from current
as $$
  select count(*) filter (where session_id = in_session)::integer, count(*)::integer
  from messages where user_id = of_owner and state = 'pending'
$$;
`
