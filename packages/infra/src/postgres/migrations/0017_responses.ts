/** Answers of models that can be continued by their id. */
export default String.raw`
create table model_responses (
  id text primary key,
  user_id text not null references users on delete cascade,
  -- No foreign key: the response that this one continues ages out first.
  previous_id text,
  -- Arrays of items of the Responses protocol.
  input jsonb not null,
  output jsonb not null,
  created_at timestamptz not null
);
create index model_responses_user on model_responses (user_id);
create index model_responses_age on model_responses (created_at);
`
