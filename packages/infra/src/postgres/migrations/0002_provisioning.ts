export default `
-- Client network that provisioned the agent: an IPv4 address, or the /64 of an IPv6 one; null for programs of the operator.
alter table unclaimed_agents add column network text;
`
