/** The cost of what an open reservation's stream has delivered, for when its process dies. */
export default String.raw`
alter table reservations add column delivered_units bigint not null default 0;
`
