import type { AgentId } from "@berth/domain/shared/AgentId"
import { ChatSessionId, type HistoryMessage, Message, MessageId, Sender } from "@berth/domain/interaction/Conversation"
import {
  MemoryRepository,
  type NewNote,
  type MemoryOwner,
  originsOfOwner
} from "@berth/domain/interaction/memory/MemoryRepository"
import type { AgentTurn } from "@berth/domain/interaction/turns/TurnRepository"
import { type MemoryNote, NoteId, type RecalledMessage } from "@berth/domain/interaction/memory/Recollection"
import type { ConversationSummary } from "@berth/domain/interaction/memory/ConversationSummary"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, DateTime, Effect, Option, Schema } from "effect"
import { createHash } from "node:crypto"
import * as Repository from "../Repository.ts"
import { makeDirectly } from "../DirectQueries.ts"
import { affectsRow, decodeFirstRow, decodeRows, execute, readCount } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import type { UserId } from "@berth/domain/shared/UserId"

/** The newest messages are searched for every word, older ones for rare words, by the word index. */
interface SearchDepth {
  readonly newest: number
  /** Number of newest matches among the older messages to rank. */
  readonly older: number
}
const depthOfTurn: SearchDepth = { newest: 200, older: 200 }
const depthOfSearch: SearchDepth = { newest: 2_000, older: 1_000 }
/** Words are rare as long as together they occur in at most 2 of the 50 newest messages. */
const sampleSize = 50
const rareMatches = 2
/** Indexed characters of a question and of a text. */
const maximumQuestionLength = 2_000
const maximumTextLength = 32_000

const NoteRow = Schema.Struct({ kind: Schema.Literal("note"), text: Schema.String, at: Schema.DateTimeUtcFromDate })
const MessageRow = Schema.Struct({
  kind: Schema.Literal("message"),
  sender: Schema.Literal(...Sender.literals, "person"),
  text: Schema.String,
  at: Schema.DateTimeUtcFromDate
})
const SummaryRow = Schema.Struct({ kind: Schema.Literal("summary"), text: Schema.String, seq: Schema.Int })
const HistoryRow = Schema.Struct({
  kind: Schema.Literal("history"),
  sender: Sender,
  text: Schema.String,
  seq: Message.fields.seq,
  state: Message.fields.state,
  attachments: Message.fields.attachments
})
const SessionRow = Schema.Struct({ kind: Schema.Literal("session"), text: Schema.Literal("owner", "people") })
const ConversationRow = Schema.Struct({
  sessionId: Schema.NullOr(ChatSessionId),
  platform: Schema.NullOr(Schema.String),
  fromOwner: Schema.NullOr(Schema.Boolean)
})
const StoredNoteRow = Schema.Struct({ ...NoteRow.fields, id: NoteId })
const MatchRow = Schema.Union(
  StoredNoteRow,
  Schema.Struct({ ...MessageRow.fields, id: MessageId, sessionId: ChatSessionId })
)
const TurnRow = Schema.Union(HistoryRow, NoteRow, MessageRow, SummaryRow, SessionRow)
const decodeTurnRows = decodeRows(TurnRow)

const questionOf = (text: string) => toStorableText(text.slice(0, maximumQuestionLength))
/** Escapes an agent's id as a search term. */
const termOf = (agentId: string) => `'agent:${toStorableText(agentId).replaceAll("\\", "\\\\").replaceAll("'", "''")}'`
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex")

export const layer = Repository.layerEffect(
  MemoryRepository,
  Effect.map(Effect.all([SqlClient, makeDirectly]), ([sql, directly]) => {
    // Deliberately not indexable, since only the search index is efficient here.
    const own = ({ agentId, userId }: MemoryOwner) =>
      sql`agent_id is not distinct from ${toStorableText(agentId)} and user_id is not distinct from ${userId}`

    const inEverySession = sql``
    /** A literal limit, so that generic plans use it too. */
    const literal = (limit: number) => sql.literal(String(limit))
    /** For a row of chat_sessions. */
    const isFromOwner = sql`(${sql.in("chat_sessions.platform", originsOfOwner)} or from_owner)`
    /** For ranked messages. */
    const senderOf = sql`
      case when sender = 'user' and not (select ${isFromOwner} from chat_sessions where id = session_id)
        then 'person' else sender end`

    /** Ranks by words; recent texts have up to twice the weight. */
    const score = (now: Date) => sql`
      ts_rank(search, words, 1) * (1 + 1 / (1 + greatest(0, extract(epoch from ${now}::timestamptz - created_at)::float8) / 2592000))`

    /**
     * `question`: the query, without a row when it has no words or `isSearched` is false. `newest`: the agent's newest
     * messages. `older`: the rare words of the query, without a row when no message is older than the newest ones.
     */
    const questionTables = (
      of: MemoryOwner,
      question: string,
      allWords: boolean,
      depth: SearchDepth,
      isSearched = sql`true`
    ) => sql`
      with question as materialized (
        select words from recall_query(${questionOf(question)}, ${allWords}::boolean) as words
        where words is not null and ${isSearched}
      ),
      newest as materialized (
        select id, sender, session_id, agent_id, user_id, content, created_at, search
        from question, newest_messages(${toStorableText(of.agentId)}, ${literal(depth.newest)})
      ),
      oldest as materialized (
        select min(created_at) as created_at from newest having count(*) = ${literal(depth.newest)}
      ),
      sample as materialized (
        -- The concatenation decompresses each text once.
        select newest.search || '' as search
        from oldest, (select search from newest order by created_at desc limit ${literal(sampleSize)}) as newest
      ),
      older as materialized (
        select string_agg(word::text, '|')::tsquery as rare_words, oldest.created_at as before
        from oldest, (
          select word, sum(matches) over (order by matches, word::text) as sum_of_matches
          from (
            select word, (select count(*) from sample where search @@ word) as matches
            from question, unnest(string_to_array(words::text, ' | ')::tsquery[]) as word
          ) as counted
        ) as rarest_first
        where sum_of_matches <= ${literal(rareMatches)}
        group by oldest.created_at
      )`

    /** Messages with a word of the query. */
    const messageMatches = (of: MemoryOwner, now: Date, depth: SearchDepth, where = inEverySession) => sql`
      select id, sender, session_id, content, created_at, ${score(now)} as score
      from (
        (
          select id, sender, session_id, content, created_at, search, words
          from question, older, messages
          where state = 'answered' and created_at < before
            and search @@ (${termOf(of.agentId)}::tsquery && rare_words) and ${own(of)} ${where}
          order by created_at desc limit ${literal(depth.older)}
        )
        union all
        (
          select id, sender, session_id, content, created_at, search, words
          from question, newest
          where search @@ words and ${own(of)} ${where}
        )
      ) as candidate`

    const noteColumns = sql`'note' as kind, id, text, created_at as at`
    const notesOf = ({ agentId, userId }: MemoryOwner) =>
      sql`from agent_notes where agent_id = ${toStorableText(agentId)} and user_id = ${userId}`

    return MemoryRepository.of({
      // Locks the agent's row, so that concurrent notes are counted serially.
      saveNote: Effect.fnUntraced(function* (note: NewNote, limit: number) {
        const text = toStorableText(note.text)
        const at = DateTime.toDate(note.at)
        return yield* Effect.gen(function* () {
          yield* sql`select from agents where id = ${toStorableText(note.agentId)} and owner_id = ${note.userId} for no key update`
          const saved = yield* sql`
            insert into agent_notes (id, agent_id, user_id, text, text_hash, created_at)
            select ${note.id}, id, owner_id, ${text}, ${hashOf(text)}, ${at}::timestamptz
            from agents where id = ${toStorableText(note.agentId)} and owner_id = ${note.userId}
            on conflict on constraint agent_notes_text_key
              do update set created_at = greatest(agent_notes.created_at, excluded.created_at)
            returning ${noteColumns}`.pipe(decodeFirstRow(StoredNoteRow))
          yield* sql`
            delete from agent_notes where id in (
              select id from agent_notes where agent_id = ${toStorableText(note.agentId)}
              order by created_at desc, id desc offset ${limit}
            )`
          return saved
        }).pipe(sql.withTransaction, Effect.orDie)
      }),
      listNotes: Effect.fnUntraced(function* (
        of: MemoryOwner,
        { limit, offset }: { readonly limit: number; readonly offset: number }
      ) {
        const notes = yield* sql`
          select ${noteColumns} ${notesOf(of)} order by created_at desc, id desc limit ${limit} offset ${offset}`.pipe(
          decodeRows(StoredNoteRow)
        )
        return { notes, total: yield* readCount(sql`select count(*)::int ${notesOf(of)}`) }
      }),
      removeNote: (of: MemoryOwner, id: NoteId) =>
        affectsRow(sql`delete ${notesOf(of)} and id = ${toStorableText(id)}`),
      // The id distinguishes a task from a message of a deleted conversation.
      findConversation: Effect.fnUntraced(function* ({ agentId, turnId, userId }: AgentTurn) {
        const found = yield* sql`
          select chat_sessions.id as session_id, chat_sessions.platform, ${isFromOwner} as from_owner
          from turns
          left join messages on messages.id = turns.id
          left join chat_sessions on chat_sessions.id = messages.session_id
          where turns.id = ${toStorableText(turnId)} and turns.user_id = ${userId}
            and turns.agent_id = ${toStorableText(agentId)}
            and (chat_sessions.id is not null or starts_with(turns.id, 'tsk_'))`.pipe(decodeFirstRow(ConversationRow))
        return Option.map(found, ({ fromOwner, platform, sessionId }) =>
          sessionId === null || platform === null || fromOwner === null ? null : { sessionId, platform, fromOwner }
        )
      }),
      search: Effect.fnUntraced(function* (of: MemoryOwner, query: string, limit: number, within?: ChatSessionId) {
        const now = DateTime.toDate(yield* DateTime.now)
        const where = within === undefined ? inEverySession : sql`and session_id = ${within}`
        return yield* sql`
          ${questionTables(of, query, true, depthOfSearch)}
          select kind, id, session_id, ${senderOf} as sender, left(text, ${maximumTextLength}) as text, created_at as at
          from (
            select 'message' as kind, id, sender, session_id, content as text, created_at, score
            from (${messageMatches(of, now, depthOfSearch, where)}) as matches
            union all
            -- Notes outweigh messages.
            select 'note', id, null, null, text, created_at, ${score(now)} * 1.5
            from question, agent_notes where agent_id = ${toStorableText(of.agentId)} and ${own(of)} and search @@ words
              and ${within === undefined}::boolean
          ) as matches
          order by score desc, created_at desc, text limit ${limit}`.pipe(decodeRows(MatchRow))
      }),
      recallForTurn: Effect.fnUntraced(function* (
        message: Pick<Message, "agentId" | "userId" | "sessionId" | "content"> & Partial<Pick<Message, "seq">>,
        limits: { readonly notes: number; readonly messages: number; readonly history: number }
      ) {
        const now = DateTime.toDate(yield* DateTime.now)
        const history =
          message.seq === undefined
            ? sql``
            : sql`
              union all
              select 'history', sender, content, created_at, seq, state, attachments, seq
              from (
                select sender, content, created_at, seq, state, attachments from messages
                where session_id = ${message.sessionId} and state <> 'failed' and seq < ${message.seq}
                  and seq > coalesce((select up_to_seq from session_summaries where session_id = ${message.sessionId}), 0)
                order by seq desc limit ${literal(limits.history)}
              ) as newest`
        const hasOtherSession = sql`exists (
          select from chat_sessions
          where agent_id = ${message.agentId} and user_id = ${message.userId} and id <> ${message.sessionId}
        )`
        const statement = directly(sql`
          ${questionTables(message, message.content, false, depthOfTurn, hasOtherSession)}
          select kind, sender, text, at, seq, state, attachments
          from (
            select 'summary' as kind, null as sender, summary as text, updated_at as at, up_to_seq as seq, null as state,
              null::jsonb as attachments, 1 as place
            from session_summaries where session_id = ${message.sessionId}
            union all
            select 'session', null, case when ${isFromOwner} then 'owner' else 'people' end, created_at, null, null, null, 0
            from chat_sessions where id = ${message.sessionId}
            union all
            select 'note', null, text, created_at, null, null, null, row_number() over (order by created_at desc, id desc)
            from (
              select id, text, created_at from agent_notes
              where agent_id = ${message.agentId} and user_id = ${message.userId}
              order by created_at desc, id desc limit ${literal(limits.notes)}
            ) as newest
            union all
            select 'message', ${senderOf}, left(content, ${maximumTextLength}), created_at, null, null, null,
              row_number() over (order by score desc, created_at desc)
            from (
              select * from (${messageMatches(message, now, depthOfTurn, sql`and session_id <> ${message.sessionId}`)}) as matches
              order by score desc, created_at desc limit ${literal(limits.messages)}
            ) as best
            ${history}
          ) as context
          order by place`)
        const rows = yield* decodeTurnRows(statement)
        return {
          history: rows
            .filter((row): row is typeof HistoryRow.Type => row.kind === "history")
            .map(({ attachments, sender, seq, state, text }): HistoryMessage => ({
              attachments,
              content: text,
              sender,
              seq,
              state
            })),
          fromOwner: Option.map(
            Array.findFirst(rows, (row): row is typeof SessionRow.Type => row.kind === "session"),
            ({ text }) => text === "owner"
          ),
          summary: Option.map(
            Array.findFirst(rows, (row): row is typeof SummaryRow.Type => row.kind === "summary"),
            ({ seq, text }): ConversationSummary => ({ text, upToSeq: seq })
          ),
          notes: rows.filter((row): row is MemoryNote => row.kind === "note"),
          messages: rows.filter((row): row is RecalledMessage => row.kind === "message")
        }
      }),
      saveSummary: Effect.fnUntraced(function* (sessionId: ChatSessionId, summary: ConversationSummary) {
        const now = DateTime.toDate(yield* DateTime.now)
        yield* execute(sql`
          insert into session_summaries (session_id, summary, up_to_seq, updated_at)
          select id, ${toStorableText(summary.text)}, ${summary.upToSeq}::integer, ${now}::timestamptz
          from chat_sessions where id = ${sessionId} for key share
          on conflict (session_id) do update
            set summary = excluded.summary, up_to_seq = excluded.up_to_seq, updated_at = excluded.updated_at
            where excluded.up_to_seq > session_summaries.up_to_seq`)
      }),
      transferNotes: (agentId: AgentId, to: UserId) =>
        execute(sql`update agent_notes set user_id = ${to} where agent_id = ${agentId}`),
      removeNotes: (userId: UserId) => execute(sql`delete from agent_notes where user_id = ${userId}`)
    })
  })
)
