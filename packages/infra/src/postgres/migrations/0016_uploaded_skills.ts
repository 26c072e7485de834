/** Skills that owners upload. */
export default String.raw`
create table uploaded_skills (
  agent_id text not null references agents on delete cascade,
  id text not null,
  name text not null,
  description text not null,
  instructions text not null,
  -- An array of {name, description, parameters, script}.
  tools jsonb not null,
  -- Base64 by path.
  files jsonb not null,
  size integer not null check (size >= 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (agent_id, id)
);
`
