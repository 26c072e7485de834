/** Charges of messages name their model at settlement from now on, and their agent since budgets: so do those that usage can sum. */
export default String.raw`
update reservations
set agent_id = coalesce(reservations.agent_id, question.agent_id), model = coalesce(reply.model, reservations.model)
from messages question
left join messages reply on reply.session_id = question.session_id and reply.seq = question.seq + 1 and reply.sender = 'agent'
where question.id = reservations.cause and question.user_id = reservations.user_id and reservations.state = 'settled'
  and reservations.created_at >= now() - interval '100 days'
  and (reservations.agent_id is null or (reservations.model is null and reply.model is not null));
`
