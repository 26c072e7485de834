/** Verification of agents by their owners. */
export default String.raw`
create table agent_verifications (
  agent_id text primary key references agents on delete cascade,
  owner_id text not null references users on delete cascade,
  -- New for every verification, for compare-and-set.
  id text not null unique,
  type text not null check (type in ('eas', 'coinbase', 'ens', 'webauthn')),
  attestation_uid text,
  verifier_address text,
  wallet_address text,
  ens_name text,
  verified_at timestamptz not null,
  next_check_at timestamptz not null
);
create index agent_verifications_of_owner on agent_verifications (owner_id);
create index agent_verifications_to_check on agent_verifications (next_check_at) where type <> 'webauthn';

create table verification_challenges (
  agent_id text not null references agents on delete cascade,
  user_id text not null references users on delete cascade,
  purpose text not null check (purpose in ('eas', 'coinbase', 'ens', 'webauthn', 'webauthn-registration')),
  nonce text not null,
  expires_at timestamptz not null,
  primary key (agent_id, user_id, purpose)
);
create index verification_challenges_of_user on verification_challenges (user_id);
create index verification_challenges_by_expiry on verification_challenges (expires_at);

create table webauthn_credentials (
  -- Chosen by the authenticator.
  id text primary key,
  agent_id text not null references agents on delete cascade,
  owner_id text not null references users on delete cascade,
  -- COSE key.
  public_key bytea not null,
  counter bigint not null,
  created_at timestamptz not null
);
create index webauthn_credentials_of_agent on webauthn_credentials (agent_id);
create index webauthn_credentials_of_owner on webauthn_credentials (owner_id);
`
