/** The schema of the first release. Append-only: programs refuse a database that was made from another text. */
export default String.raw`
-- accounts
create table users (
  id text primary key,
  email text not null,
  email_verified_at timestamptz,
  name text not null,
  password_hash text,
  -- Null for the password of the registration.
  password_set_at timestamptz,
  plan text not null default 'free',
  -- Units are hundredths of a credit. A refund of spent credits leaves a debt of at most the refunded units.
  credit_units bigint not null default 0,
  reversed_units bigint not null default 0 check (reversed_units >= 0),
  two_factor_enabled boolean not null default false,
  notifications jsonb not null,
  referral_code text not null,
  -- Null for an active account.
  suspended_at timestamptz,
  created_at timestamptz not null,
  constraint users_credit_units_check check (credit_units >= -reversed_units)
);
create unique index users_email_key on users (lower(email));
create unique index users_referral_code_key on users (lower(referral_code));

create table referral_rewards (
  newcomer_id text primary key references users on delete cascade,
  referrer_id text references users on delete set null,
  newcomer_units bigint not null check (newcomer_units >= 0),
  referrer_units bigint not null check (referrer_units >= 0),
  created_at timestamptz not null,
  paid_at timestamptz
);
create index referral_rewards_of_referrer on referral_rewards (referrer_id, created_at);

-- Tombstones: instances and files that carry such an id may be deleted.
create table deleted_users (
  id text primary key,
  deleted_on date not null
);

-- sessions
create table sessions (
  id text primary key,
  user_id text not null references users on delete cascade,
  token_hash text not null unique,
  created_at timestamptz not null,
  -- Time of the sign-in, or of the last password check within the session.
  authenticated_at timestamptz not null,
  expires_at timestamptz not null,
  last_seen_at timestamptz not null,
  -- User agent and network of the sign-in.
  user_agent text,
  address text
);
create index sessions_of_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

create table api_keys (
  id text primary key,
  user_id text not null references users on delete cascade,
  name text not null,
  key_hash text not null unique,
  -- First characters of the key.
  hint text not null,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz
);
create index api_keys_of_user on api_keys (user_id, created_at desc, id desc);

-- signin: wallets, OAuth and social tokens
create table wallets (
  -- EIP-55 checksum form.
  address text not null,
  user_id text not null references users on delete cascade,
  linked_at timestamptz not null
);
create unique index wallets_address_key on wallets (lower(address));
create index wallets_of_user on wallets (user_id);

create table used_wallet_nonces (
  hash text primary key,
  expires_at timestamptz not null
);
create index used_wallet_nonces_by_expiry on used_wallet_nonces (expires_at);

create table linked_identities (
  provider text not null,
  issuer text not null,
  subject text not null,
  user_id text not null references users on delete cascade,
  linked_at timestamptz not null,
  primary key (provider, issuer, subject)
);
create index linked_identities_of_user on linked_identities (user_id);

create table used_oauth_states (
  hash text primary key,
  expires_at timestamptz not null
);
create index used_oauth_states_by_expiry on used_oauth_states (expires_at);

-- All tokens of a session form one family and end with the session.
create table social_tokens (
  hash text primary key,
  session_id text not null references sessions on delete cascade,
  exchanged_at timestamptz,
  expires_at timestamptz not null
);
create index social_tokens_of_session on social_tokens (session_id);

-- recovery: one token per user and purpose
create table mailed_tokens (
  user_id text not null references users on delete cascade,
  purpose text not null check (purpose in ('password-reset', 'email-verification', 'email-change-undo')),
  -- Id of the job that created the token; these ids sort by time.
  request_id text not null,
  token_hash text not null unique,
  email text not null,
  expires_at timestamptz not null,
  -- Time of use or revocation. The row stays until expiry, so that a repeated request is recognized.
  spent_at timestamptz,
  primary key (user_id, purpose)
);
create index mailed_tokens_by_expiry on mailed_tokens (expires_at);
create index mailed_tokens_by_email on mailed_tokens (lower(email)) where purpose = 'email-change-undo';

-- Claimed accounts whose owner has not decided yet about the contents from before the claim.
create table claim_notices (
  user_id text primary key references users on delete cascade,
  claimed_at timestamptz not null
);

-- billing: plans, units and the ledger. Rows of money outlive their user under a random pseudonym, former_user.
create table subscriptions (
  user_id text primary key references users on delete cascade,
  plan text not null,
  status text not null check (status in ('active', 'past_due', 'canceled')),
  customer_id text,
  subscription_id text,
  current_period_end timestamptz,
  last_event_at timestamptz,
  updated_at timestamptz not null
);

create table former_subscriptions (
  former_user text primary key,
  plan text not null,
  status text not null,
  current_period_end timestamptz,
  last_event_at timestamptz,
  updated_at timestamptz not null
);

create table storage_entitlements (
  user_id text primary key references users on delete cascade,
  tier text not null check (tier in ('included', 'upgraded')),
  updated_at timestamptz not null
);

-- Units of the plan settled or reserved per UTC day.
create table unit_days (
  user_id text not null references users on delete cascade,
  day date not null,
  used bigint not null default 0 check (used >= 0),
  primary key (user_id, day)
);

create table reservations (
  id text primary key,
  user_id text not null references users on delete cascade,
  cause text not null,
  day date not null,
  state text not null check (state in ('reserved', 'settled', 'released')),
  daily_units bigint not null check (daily_units >= 0),
  credit_units bigint not null check (credit_units >= 0),
  settled_daily_units bigint not null default 0 check (settled_daily_units between 0 and daily_units),
  settled_credit_units bigint not null default 0 check (settled_credit_units between 0 and credit_units),
  -- The process that settles it: reservation_holders.id.
  holder text not null,
  created_at timestamptz not null
);
-- Leases of processes with open reservations.
create table reservation_holders (
  id text primary key,
  expires_at timestamptz not null
);
-- A cause is charged once; a released reservation cost nothing and its cause may be tried again.
create unique index reservations_cause_key on reservations (user_id, cause) where state <> 'released';
create index reservations_open on reservations (created_at) where state = 'reserved';
create index reservations_of_user on reservations (user_id);
create index reservations_history_of_user on reservations (user_id, created_at desc, id desc)
  where state = 'settled' and settled_daily_units + settled_credit_units > 0;

-- Double entry: the units of one transaction add up to zero.
create table ledger_entries (
  id text primary key,
  transaction_id text not null,
  user_id text references users on delete set null,
  former_user text,
  account text not null check (account in ('allowance', 'credits', 'usage', 'grants', 'purchases')),
  units bigint not null check (units <> 0),
  cause text not null,
  created_at timestamptz not null
);
create index ledger_entries_of_user on ledger_entries (user_id, created_at);
-- Sum of a user's credit entries before closed_until, from which the audit continues.
create table ledger_checkpoints (
  user_id text primary key references users on delete cascade,
  closed_until timestamptz not null,
  credit_units bigint not null
);
create index ledger_entries_of_transaction on ledger_entries (transaction_id);
create index ledger_entries_grants_of_user on ledger_entries (user_id, created_at desc, id desc)
  where account = 'credits' and cause in ('credits-added', 'credits-adjusted');

-- One row per cause. A reversal that arrives first leaves a row with cause and reversed_at only.
create table purchases (
  id text primary key,
  cause text not null constraint purchases_cause_key unique,
  user_id text references users on delete set null,
  former_user text,
  kind text check (kind in ('purchase', 'grant', 'subscription')),
  description text,
  units bigint check (units >= 0),
  -- Minor units of the currency.
  amount bigint check (amount >= 0),
  currency text,
  booked_at timestamptz,
  reversed_at timestamptz,
  -- Part of units and amount that refunds and disputes took back.
  reversed_units bigint not null default 0 check (reversed_units >= 0),
  reversed_amount bigint not null default 0 check (reversed_amount >= 0),
  check (booked_at is not null or reversed_at is not null),
  check ((booked_at is null) = (kind is null or units is null or amount is null or currency is null or description is null))
);
create index purchases_of_user on purchases (user_id, booked_at desc, id desc) where booked_at is not null;
create index purchases_reversed_of_user on purchases (user_id, reversed_at desc, id desc)
  where booked_at is not null and reversed_at is not null;

-- billing: the card processor's customers, purchases and events
create table card_customers (
  user_id text not null references users on delete cascade,
  currency text not null check (currency in ('GBP', 'USD')),
  customer_id text not null,
  created_at timestamptz not null,
  primary key (user_id, currency)
);

create table purchase_attempts (
  -- Idempotency key at the card processor.
  id text primary key,
  user_id text not null references users on delete cascade,
  operation text not null,
  -- Idempotency key of the caller's request, if any.
  reference text,
  state text not null check (state in ('open', 'paid', 'refused')),
  -- Set for charges of a saved card only; the amount is in minor units.
  customer_id text,
  credits bigint,
  amount bigint,
  currency text,
  created_at timestamptz not null,
  tried_at timestamptz not null,
  check (num_nulls(customer_id, credits, amount, currency) in (0, 4))
);
create unique index purchase_attempts_reference_key on purchase_attempts (user_id, operation, reference)
  where state <> 'refused' and reference is not null;
create index purchase_attempts_of_user on purchase_attempts (user_id, operation, created_at);
create index purchase_attempts_open on purchase_attempts (tried_at) where state = 'open' and customer_id is not null;
create index purchase_attempts_by_age on purchase_attempts (created_at);

create table card_events (
  -- The processor's event id: a redelivery has the same one.
  id text primary key,
  type text not null,
  created_at timestamptz not null,
  -- Null once the customer's account is deleted.
  payload jsonb,
  status text not null check (status in ('received', 'applied', 'unclear', 'unreadable', 'unmatched', 'ignored')),
  user_id text references users on delete cascade,
  -- Customer and address that an unmatched event waits for.
  payer_id text,
  email text,
  received_at timestamptz not null default now(),
  job_requested_at timestamptz not null default now()
);
create index card_events_of_user on card_events (user_id);
create index card_events_open on card_events (job_requested_at) where status in ('received', 'unmatched', 'unclear');
create index card_events_unmatched_payer on card_events (payer_id) where status = 'unmatched';
create index card_events_unmatched_email on card_events (lower(email)) where status = 'unmatched';
create index card_events_by_age on card_events (received_at);

-- Newest known facts from events, each with the moment of its event.
create table card_payers (
  id text primary key,
  user_id text not null references users on delete cascade,
  moment jsonb not null
);
create index card_payers_of_user on card_payers (user_id);

create table card_subscriptions (
  id text primary key,
  payer_id text not null,
  user_id text not null references users on delete cascade,
  facts jsonb not null
);
create index card_subscriptions_of_user on card_subscriptions (user_id);
create index card_subscriptions_of_payer on card_subscriptions (payer_id);

-- Every processor id of a credit purchase, and the one it was booked under.
create table card_purchases (
  name text primary key,
  booked_as text not null,
  user_id text not null references users on delete cascade
);
create index card_purchases_of_user on card_purchases (user_id);
create index card_purchases_booked_as on card_purchases (booked_as);

-- Refunded or disputed amounts, by charge or dispute; kept also for purchases not booked yet.
create table purchase_reversals (
  payment text not null,
  source text not null,
  amount bigint not null check (amount >= 0),
  version bigint not null,
  primary key (payment, source)
);

-- agents
create table agents (
  id text primary key,
  owner_id text not null references users on delete cascade,
  name text not null,
  model text not null,
  custom_model text,
  status text not null check (status in ('provisioning', 'running', 'active', 'stopped', 'error')),
  config jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index agents_of_owner on agents (owner_id, created_at desc, id desc);
create index agents_in_provisioning on agents (updated_at) where status = 'provisioning';

-- Values are sealed for this owner and this key.
create table credentials (
  user_id text not null references users on delete cascade,
  key text not null check (key in ('anthropic', 'openai', 'openrouter', 'google', 'telegram', 'discord', 'whatsapp', 'groq')),
  sealed text not null,
  updated_at timestamptz not null,
  primary key (user_id, key)
);

-- instances: sealed tokens are opened for use, the hash finds the owner of a presented one
create table instances (
  owner_id text primary key references users on delete cascade,
  subdomain text not null unique,
  desired text not null check (desired in ('up', 'asleep', 'down')),
  status text not null check (status in ('provisioning', 'running', 'active', 'stopped', 'error')),
  started_at timestamptz,
  runtime_version text,
  runtime_token_sealed text,
  runtime_token_hash text unique,
  gateway_token_sealed text,
  -- Latest recorded use, by a turn, a socket or a start. Instances that are long unused sleep.
  last_used_at timestamptz not null,
  created_at timestamptz not null
);
create index instances_desired_up on instances (last_used_at) where desired = 'up';

-- Full-text search over every language, independent of the database locale: words are split at non-letters,
-- scripts without spaces become overlapping pairs of characters, plain Latin words lose English endings.
create text search dictionary recall_stem (template = snowball, language = english);
create text search configuration recall (copy = simple);
alter text search configuration recall
  alter mapping for asciiword, hword_asciipart, asciihword with recall_stem;

-- The first 32000 characters in lower case, words separated by spaces.
create function recall_words(content text) returns text
language sql immutable parallel safe strict
set search_path from current
return regexp_replace(
  lower(left(normalize(left(content, 32000), NFKC), 32000)),
  '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u055a-\u055f\u0589\u05be\u05c0\u05c3\u05c6\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u2000-\u206f\u2190-\u2bff\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u30fb\ufe30-\ufe4f]+',
  ' ', 'g');

-- Index terms of a text.
create function recall_terms(content text) returns tsvector
language plpgsql immutable parallel safe strict
set search_path from current
as $$
declare
  -- Thai, Lao, Burmese, Khmer, Japanese, Chinese, Korean.
  unspaced constant text := '[\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1780-\u17d3\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U0003134f]';
  words text := recall_words(content);
begin
  if words ~ '[^\u0001-\u007f]' then
    words := normalize(regexp_replace(normalize(words, NFKD), '[\u0300-\u036f]', '', 'g'), NFC);
    if words ~ unspaced then
      -- Runs of at most 64 characters: substr on one long run is quadratic.
      words := regexp_replace(words, unspaced || '+', ' ', 'g') || ' ' || (
        select string_agg(substr(run[1], place, 2), ' ')
        from regexp_matches(words, unspaced || '{1,64}', 'g') as run,
          generate_series(1, greatest(length(run[1]) - 1, 1)) as place
      );
    end if;
  end if;
  return to_tsvector('recall', words);
end $$;

-- Any significant word of a question: those that are not stop words of the language with the most stop words in it.
-- Null when there is none, unless "whole" is set: then every word counts.
create function recall_query(question text, whole boolean) returns tsquery
language plpgsql stable parallel safe strict
set search_path from current
as $$
declare
  words text[] := tsvector_to_array(to_tsvector('simple', recall_words(left(question, 2000))));
  significant text[];
begin
  select array(
    select word from unnest(words) as word
    where ts_lexize(language.stem, word) is distinct from '{}' and (length(word) > 1 or word !~ '[a-z]')
  ) into significant
  from (
    select stem
    from unnest(array[
      'english_stem', 'danish_stem', 'dutch_stem', 'finnish_stem', 'french_stem', 'german_stem', 'hungarian_stem',
      'italian_stem', 'norwegian_stem', 'portuguese_stem', 'russian_stem', 'spanish_stem', 'swedish_stem', 'turkish_stem'
    ]::regdictionary[]) with ordinality as known (stem, place)
    order by (select count(*) from unnest(words) as word where ts_lexize(stem, word) = '{}') desc, place
    limit 1
  ) as language;
  if whole and significant = '{}' then
    significant := words;
  end if;
  return (
    select string_agg('''' || lexeme || '''', '|')::tsquery
    from (
      select lexeme from unnest(recall_terms(array_to_string(significant, ' '))) order by positions[1] limit 32
    ) as term
  );
end $$;

-- interaction: chats, turns and memory
create table chat_sessions (
  id text primary key,
  user_id text not null references users on delete cascade,
  agent_id text not null references agents on delete cascade,
  -- The channel of the conversation. Requests that name no session continue those of the web only.
  platform text not null default 'web',
  status text not null check (status in ('active')),
  last_seq integer not null default 0,
  message_count integer not null default 0,
  created_at timestamptz not null,
  last_activity timestamptz not null
);
create index chat_sessions_of_user on chat_sessions (user_id, last_activity desc);
create index chat_sessions_of_agent on chat_sessions (agent_id, user_id, last_activity desc);

create table messages (
  id text primary key,
  session_id text not null references chat_sessions on delete cascade,
  user_id text not null references users on delete cascade,
  agent_id text not null references agents on delete cascade,
  seq integer not null check (seq > 0),
  sender text not null check (sender in ('user', 'agent')),
  content text not null,
  topic text,
  platform text not null,
  state text not null check (state in ('pending', 'answered', 'failed')),
  -- End of the stream for a client that resumes it: the number of deltas, and the reason if the turn failed.
  delta_count integer check (delta_count >= 0),
  failure text,
  -- The model that answered, of replies.
  model text,
  provider text,
  -- The agent is a term that no text can contain, so that one index finds the matches of one agent.
  search tsvector not null
    generated always as (array_to_tsvector(array['agent:' || agent_id]) || recall_terms(content)) stored,
  created_at timestamptz not null,
  constraint messages_seq_key unique (session_id, seq)
);
create index messages_of_user on messages (user_id, created_at desc, seq desc);
create index messages_of_agent on messages (agent_id, created_at desc, seq desc);
create index messages_pending on messages (session_id, seq) where state = 'pending';
create index messages_pending_of_user on messages (user_id) where state = 'pending';
-- Answered messages only, since a pending one is updated often. The pending list costs a search about 1 ms.
create index messages_search on messages using gin (search) with (gin_pending_list_limit = 512) where state = 'answered';

-- Streamed deltas, several per row, kept for minutes. No foreign key: deleting one conversation must not fail
-- the batch insert of others.
create table answer_events (
  message_id text not null,
  first_delta integer not null check (first_delta > 0),
  delta_count integer not null check (delta_count > 0),
  -- Not jsonb, which rejects U+0000 and unpaired surrogates; a delta may end inside a pair.
  deltas json not null,
  created_at timestamptz not null,
  primary key (message_id, first_delta)
);
create index answer_events_by_age on answer_events (created_at);

-- Turns in progress, of messages and of tasks, with the model calls so far. Apart from messages, whose rows are wide.
create table turns (
  id text primary key,
  user_id text not null references users on delete cascade,
  agent_id text not null references agents on delete cascade,
  lease_until timestamptz not null,
  reservation_id text,
  own_keys_only boolean not null,
  unit_limit integer,
  own_calls integer not null default 0,
  platform_calls integer not null default 0,
  open_calls integer not null default 0,
  -- Millionths of a US dollar.
  cost_micros bigint not null default 0,
  held_micros bigint not null default 0
) with (fillfactor = 50);
create index turns_of_user on turns (user_id);
create index turns_of_agent on turns (agent_id);
create index turns_of_reservation on turns (reservation_id);
create index turns_leased on turns (lease_until);

create table agent_notes (
  id text primary key,
  agent_id text not null references agents on delete cascade,
  user_id text not null references users on delete cascade,
  text text not null,
  -- A text can exceed the size of an index entry.
  text_hash text not null,
  search tsvector not null generated always as (recall_terms(text)) stored,
  created_at timestamptz not null,
  constraint agent_notes_text_key unique (agent_id, text_hash)
);
create index agent_notes_of_agent on agent_notes (agent_id, created_at desc, id desc);
create index agent_notes_of_user on agent_notes (user_id);

create table session_summaries (
  session_id text primary key references chat_sessions on delete cascade,
  summary text not null,
  up_to_seq integer not null check (up_to_seq > 0),
  updated_at timestamptz not null
);

-- channels: connections of agents to messaging platforms
create table channel_connections (
  agent_id text not null references agents on delete cascade,
  platform text not null check (platform in ('platformA', 'platformB', 'platformC')),
  secrets_sealed text not null,
  -- Grows with every replacement: a check of earlier secrets records nothing.
  revision integer not null default 1,
  answers_bots boolean not null,
  state text not null check (state in ('pending', 'connected', 'refused', 'unreachable')),
  reason text,
  checked_at timestamptz,
  -- The bot by the platform; null before the first successful check.
  bot jsonb,
  transport text check (transport in ('webhook', 'polling')),
  -- Position in the bot's messages, and the lease of the worker that reads them.
  cursor text,
  claim_id text,
  lease_until timestamptz,
  updated_at timestamptz not null,
  primary key (agent_id, platform)
);
create index channel_connections_of_bot on channel_connections (platform, (bot ->> 'id'));

create table channel_chats (
  agent_id text not null,
  platform text not null,
  chat_id text not null,
  -- Id of the conversation, which its first message creates.
  session_id text,
  last_position bigint not null default 0,
  -- Messages of bots since the last one of a person.
  bot_streak integer not null default 0,
  notified_at timestamptz,
  -- Nothing is sent to the chat before this time.
  paused_until timestamptz,
  -- Lease of the worker that answers.
  claim_id text,
  lease_until timestamptz,
  primary key (agent_id, platform, chat_id),
  foreign key (agent_id, platform) references channel_connections on delete cascade
);

create table inbound_messages (
  id text primary key,
  agent_id text not null,
  platform text not null,
  chat_id text not null,
  -- Id by the platform: a redelivery and an edit have the same one.
  external_id text not null,
  version bigint not null,
  -- Order by the platform, then by arrival.
  sequence bigint not null,
  position bigint not null,
  -- Null once the message has been handled.
  content jsonb,
  status text not null check (status in ('waiting', 'answered', 'refused', 'ignored')),
  received_at timestamptz not null,
  constraint inbound_messages_external_id_key unique (agent_id, platform, external_id),
  foreign key (agent_id, platform, chat_id) references channel_chats on delete cascade
);
create index inbound_messages_of_chat on inbound_messages (agent_id, platform, chat_id, received_at);
create index inbound_messages_of_agent on inbound_messages (agent_id, received_at);
create index inbound_messages_waiting on inbound_messages (agent_id, platform, chat_id, sequence, position)
  where status = 'waiting';
create index inbound_messages_by_age on inbound_messages (received_at) where status <> 'waiting';

create table outbound_messages (
  id text primary key,
  agent_id text not null,
  platform text not null,
  chat_id text not null,
  -- The answered message; null for greetings.
  inbound_id text unique references inbound_messages on delete set null,
  reply_to text,
  text text not null,
  -- A greeting that a bot may not send waits for the first message of its chat.
  status text not null check (status in ('pending', 'waiting', 'sent', 'failed')),
  parts_sent integer not null default 0,
  external_ids text[] not null default '{}',
  -- The part whose sending began without a recorded outcome: sending it again can repeat it.
  started_part integer,
  repeats integer not null default 0,
  failures integer not null default 0,
  reason text,
  created_at timestamptz not null,
  foreign key (agent_id, platform, chat_id) references channel_chats on delete cascade
);
create index outbound_messages_of_chat on outbound_messages (agent_id, platform, chat_id, id)
  where status in ('pending', 'waiting');
create index outbound_messages_by_age on outbound_messages (created_at) where status in ('sent', 'failed');

-- provisioning: agents of anonymous owners, until somebody claims them.
create table unclaimed_agents (
  owner_id text primary key references users on delete cascade,
  agent_id text not null references agents on delete cascade,
  code_hash text not null unique,
  created_at timestamptz not null,
  stopped_at timestamptz,
  removed_at timestamptz
);
create index unclaimed_agents_by_agent on unclaimed_agents (agent_id);
create index unclaimed_agents_by_age on unclaimed_agents (created_at);

-- live streams. Without an agent: to be ended at the provider.
create table live_streams (
  id text primary key,
  agent_id text constraint live_streams_agent_key unique references agents on delete set null,
  playback_url text not null,
  -- Hash of the stream key at the built-in origin; null for streams of a provider.
  key_hash text unique,
  created_at timestamptz not null,
  -- The latest broadcast.
  started_at timestamptz,
  ended_at timestamptz,
  last_upload_at timestamptz,
  window_started_at timestamptz,
  window_uploads integer not null default 0,
  window_bytes bigint not null default 0
);
create index live_streams_abandoned on live_streams (id) where agent_id is null;
create index live_streams_in_broadcast on live_streams (last_upload_at) where ended_at is null;

-- Playlists and segments of the last minutes. Unlogged: a crash of the database ends broadcasts, and encoders upload again.
create unlogged table live_files (
  stream_id text not null references live_streams on delete cascade,
  name text not null,
  content bytea not null,
  byte_length integer not null,
  uploaded_at timestamptz not null,
  -- Latest upload of the file, or of a playlist that lists it.
  listed_at timestamptz not null,
  primary key (stream_id, name)
);
-- Media is compressed already.
alter table live_files alter column content set storage external;
create index live_files_by_age on live_files (listed_at);

-- Entries of agents' logs from outside their instances.
create table agent_log_entries (
  id text primary key,
  agent_id text not null references agents on delete cascade,
  level text not null check (level in ('debug', 'info', 'warning', 'error')),
  message text not null,
  created_at timestamptz not null
);
create index agent_log_entries_of_agent on agent_log_entries (agent_id, created_at desc, id desc);
create index agent_log_entries_by_age on agent_log_entries (created_at);

-- gateway: model usage and machine payments
create table model_usage (
  id bigint primary key generated always as identity,
  user_id text references users on delete set null,
  former_user text,
  agent_id text references agents on delete set null,
  provider text not null,
  model text not null,
  prompt_tokens integer not null check (prompt_tokens >= 0),
  completion_tokens integer not null check (completion_tokens >= 0),
  cost_usd numeric not null check (cost_usd >= 0),
  -- Paid with the owner's provider key.
  own_key boolean not null default false,
  created_at timestamptz not null
);
create index model_usage_of_user on model_usage (user_id, created_at);
create index model_usage_of_agent on model_usage (agent_id, created_at);
create index model_usage_by_time on model_usage (created_at);

create table payment_redemptions (
  challenge_id text primary key,
  transaction_hash text not null constraint payment_redemptions_transaction_key unique,
  plugin text not null,
  chain_id bigint not null,
  currency text not null,
  recipient text not null,
  -- Smallest units of the token, up to 2^256 - 1.
  amount numeric(78) not null,
  claim_id text not null,
  lease_until timestamptz not null,
  claimed_at timestamptz not null default now(),
  settled_at timestamptz,
  -- Runs of the plugin, whether or not they completed.
  runs integer not null default 0,
  answered_at timestamptz,
  -- Gzip of the answer as JSON, kept for repeats of the request.
  answer bytea,
  check (answered_at is null or settled_at is not null)
);
create index payment_redemptions_by_age on payment_redemptions (claimed_at);
create index payment_redemptions_with_answer on payment_redemptions (answered_at) where answer is not null;

-- limits and jobs: idempotency keys and the outbox
create table idempotency_keys (
  -- Digest of principal, route and key.
  id text primary key,
  -- Digest of the principal, which finds all keys of a deleted user.
  principal_hash text,
  claim_id text not null,
  -- Stable across claims: names the request towards external systems.
  first_claim_id text not null,
  request_hash text not null,
  lease_until timestamptz not null,
  -- Result of the work, sealed, written in the transaction that did it.
  outcome_sealed text,
  response_sealed text,
  expires_at timestamptz not null
);
create index idempotency_keys_by_expiry on idempotency_keys (expires_at);
create index idempotency_keys_of_principal on idempotency_keys (principal_hash);

create table outbox (
  id text primary key,
  position bigint not null generated always as identity,
  -- Unit of fairness: queue and owner, or the entry itself.
  lane text not null,
  queue text not null,
  name text not null,
  payload jsonb not null,
  trace jsonb,
  -- Failed publications; entries with more of them come later.
  failures integer not null default 0,
  created_at timestamptz not null,
  published_at timestamptz,
  -- End of the job; until then a published entry counts as in flight.
  settled_at timestamptz
);
create index outbox_unpublished on outbox (lane, failures, position) where published_at is null;
create index outbox_in_flight on outbox (lane, published_at) where published_at is not null and settled_at is null;
create index outbox_published on outbox (published_at) where published_at is not null;

-- administration: actions of administrators. No foreign keys: entries outlive users.
create table audit_entries (
  id text primary key,
  actor text not null,
  action text not null,
  -- A user id.
  target text not null,
  reason text,
  before jsonb,
  after jsonb,
  request_id text,
  created_at timestamptz not null
);
create index audit_entries_of_target on audit_entries (target, id desc);
create index audit_entries_of_actor on audit_entries (actor, id desc);

create function reject_audit_change() returns trigger
language plpgsql
as $$
begin
  raise exception 'Audit entries are append-only';
end $$;
create trigger audit_entries_append_only before update or delete or truncate on audit_entries
  for each statement execute function reject_audit_change();
`
