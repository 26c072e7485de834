/** MCP servers of agents. */
export default String.raw`
create table mcp_servers (
  agent_id text not null references agents on delete cascade,
  name text not null,
  url text not null,
  -- A JSON object of texts.
  headers_sealed text not null,
  updated_at timestamptz not null,
  primary key (agent_id, name)
);
`
