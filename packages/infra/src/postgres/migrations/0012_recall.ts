import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

/**
 * What agents remember: a full-text search over messages that serves every language, notes, and summaries.
 *
 * Words are told apart by our own rules, so that they do not hang on the locale of the database: compatibility forms, case and
 * accents count for nothing, everything that is no letter and no digit separates. Scripts that are written without
 * spaces are cut into overlapping pairs of characters. Words of plain Latin letters lose their English endings, which
 * changes words of other languages too, but in text and question alike.
 */
export default Effect.flatMap(
  SqlClient,
  (sql) => sql`
    create text search dictionary recall_stem (template = snowball, language = english);
    create text search configuration recall (copy = simple);
    alter text search configuration recall
      alter mapping for asciiword, hword_asciipart, asciihword with recall_stem;

    -- The beginning of a text in lower case, its words set apart by spaces.
    create function recall_words(content text) returns text
    language sql immutable parallel safe strict
    set search_path from current
    return regexp_replace(
      lower(left(normalize(left(content, 32000), NFKC), 32000)),
      '[\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u00a9\\u00ab-\\u00b1\\u00b4\\u00b6-\\u00b8\\u00bb\\u00bf\\u055a-\\u055f\\u0589\\u05be\\u05c0\\u05c3\\u05c6\\u060c\\u061b\\u061f\\u066a-\\u066d\\u06d4\\u0964\\u0965\\u2000-\\u206f\\u2190-\\u2bff\\u2e00-\\u2e7f\\u3000-\\u3004\\u3008-\\u3020\\u3030\\u30fb\\ufe30-\\ufe4f]+',
      ' ', 'g');

    -- What a text is found by.
    create function recall_terms(content text) returns tsvector
    language plpgsql immutable parallel safe strict
    set search_path from current
    as $$
    declare
      -- Thai, Lao, Burmese, Khmer, Japanese, Chinese, Korean.
      unspaced constant text := '[\\u0e01-\\u0e4e\\u0e81-\\u0ecd\\u1000-\\u103f\\u1780-\\u17d3\\u3005-\\u3007\\u3041-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7a3\\U00020000-\\U0003134f]';
      words text := recall_words(content);
    begin
      if words ~ '[^\\u0001-\\u007f]' then
        words := normalize(regexp_replace(normalize(words, NFKD), '[\\u0300-\\u036f]', '', 'g'), NFC);
        if words ~ unspaced then
          -- In pieces: to step through one long run would take the square of its length.
          words := regexp_replace(words, unspaced || '+', ' ', 'g') || ' ' || (
            select string_agg(substr(run[1], place, 2), ' ')
            from regexp_matches(words, unspaced || '{1,64}', 'g') as run,
              generate_series(1, greatest(length(run[1]) - 1, 1)) as place
          );
        end if;
      end if;
      return to_tsvector('recall', words);
    end $$;

    -- Any of the telling words of a question: those that are no stop words of the language that knows most of its words
    -- as such. Null when there are none; when "whole", the words that are there then.
    create function recall_question(question text, whole boolean) returns tsquery
    language plpgsql stable parallel safe strict
    set search_path from current
    as $$
    declare
      words text[] := tsvector_to_array(to_tsvector('simple', recall_words(left(question, 2000))));
      telling text[];
    begin
      select array(
        select word from unnest(words) as word
        where ts_lexize(language.stem, word) is distinct from '{}' and (length(word) > 1 or word !~ '[a-z]')
      ) into telling
      from (
        select stem
        from unnest(array[
          'english_stem', 'danish_stem', 'dutch_stem', 'finnish_stem', 'french_stem', 'german_stem', 'hungarian_stem',
          'italian_stem', 'norwegian_stem', 'portuguese_stem', 'russian_stem', 'spanish_stem', 'swedish_stem', 'turkish_stem'
        ]::regdictionary[]) with ordinality as known (stem, place)
        order by (select count(*) from unnest(words) as word where ts_lexize(stem, word) = '{}') desc, place
        limit 1
      ) as language;
      if whole and telling = '{}' then
        telling := words;
      end if;
      return (
        select string_agg('''' || lexeme || '''', '|')::tsquery
        from (
          select lexeme from unnest(recall_terms(array_to_string(telling, ' '))) order by positions[1] limit 32
        ) as term
      );
    end $$;

    -- The agent is a term too, which no text can have: one index finds its messages that have a word, without passing
    -- those of all others.
    alter table messages add column search tsvector not null
      generated always as (array_to_tsvector(array['agent:' || agent_id]) || recall_terms(content)) stored;
    -- Only what was answered, so that the waiting message's many updates do not write it over and over.
    -- New messages wait in a short list, which costs a search about a millisecond and saves a message more.
    create index messages_search on messages using gin (search) with (gin_pending_list_limit = 512) where state = 'answered';

    drop index messages_of_agent;
    create index messages_of_agent on messages (agent_id, created_at desc, seq desc);

    create table agent_notes (
      id text primary key,
      agent_id text not null references agents on delete cascade,
      user_id text not null references users on delete cascade,
      text text not null,
      -- A text can be longer than what an index entry holds.
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
  `
)
