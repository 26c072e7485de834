/** The units of a reservation that count: those it reserves, or those it has used. */
const counted = (row: string) => `case ${row}.state
      when 'reserved' then ${row}.daily_units + ${row}.credit_units
      when 'settled' then ${row}.settled_daily_units + ${row}.settled_credit_units
      else 0
    end`

/** Units per agent and day, which budgets sum instead of reservations. */
export default String.raw`
-- Units settled or reserved per agent and UTC day, of the plan and of credits.
create table agent_unit_days (
  user_id text not null references users on delete cascade,
  day date not null,
  -- Empty for work without an agent.
  agent_id text not null,
  units bigint not null check (units >= 0),
  primary key (user_id, day, agent_id)
);

-- Deleted reservations stay counted. Callers that change units lock the day in unit_days before, so counters add no lock order.
create function count_agent_units() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    update agent_unit_days set units = units - ${counted("old")}
    where user_id = old.user_id and day = old.day and agent_id = coalesce(old.agent_id, '') and ${counted("old")} > 0;
  end if;
  insert into agent_unit_days as today (user_id, day, agent_id, units)
  values (new.user_id, new.day, coalesce(new.agent_id, ''), ${counted("new")})
  on conflict (user_id, day, agent_id) do update set units = today.units + excluded.units;
  return null;
end $$;

create trigger reservations_count_new after insert on reservations for each row
  when (${counted("new")} > 0) execute function count_agent_units();
create trigger reservations_count_changed
  after update of agent_id, day, state, daily_units, credit_units, settled_daily_units, settled_credit_units
  on reservations for each row when (
    old.agent_id is distinct from new.agent_id or old.day <> new.day or ${counted("old")} <> ${counted("new")}
  ) execute function count_agent_units();

insert into agent_unit_days (user_id, day, agent_id, units)
select user_id, day, coalesce(agent_id, ''), sum(${counted("reservations")}) from reservations
group by 1, 2, 3 having sum(${counted("reservations")}) > 0;
`
