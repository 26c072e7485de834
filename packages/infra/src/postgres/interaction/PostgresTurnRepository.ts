import type { UsdMicros } from "@berth/domain/shared/Money"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import type { TurnPayment } from "@berth/domain/interaction/turns/TurnPayment"
import {
  type AgentTurn,
  type CallCost,
  type TurnRecord,
  TurnRepository
} from "@berth/domain/interaction/turns/TurnRepository"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, type DateTime, Effect, flow, Option, Schema } from "effect"
import * as Repository from "../Repository.ts"
import { toDatabaseTime } from "../DatabaseClock.ts"
import { makeDirectly } from "../DirectQueries.ts"
import { executeAlone, makeRequestGroups } from "../RequestGroups.ts"
import { decodeFirstRow, decodeRows, execute, readExists } from "../Rows.ts"
import { UsdMicrosColumn } from "../shared/MoneyColumns.ts"
import { toStorableText } from "../StorableText.ts"
import { type CallChange, makeCallGroup } from "./CallGroup.ts"

const TurnRow = Schema.Struct({
  reservationId: Schema.NullOr(ReservationId),
  ownKeysOnly: Schema.Boolean,
  unitLimit: Schema.NullOr(Schema.Int.pipe(Schema.brand("Units"))),
  ownCalls: Schema.Int,
  platformCalls: Schema.Int,
  openCalls: Schema.Int,
  costMicros: UsdMicrosColumn,
  heldMicros: UsdMicrosColumn,
  callBegun: Schema.Boolean
})
const decodeTurn = decodeFirstRow(TurnRow)
const IdRow = Schema.Struct({ id: Schema.String })

const toRecord = Option.map(({ reservationId, unitLimit, ...row }: typeof TurnRow.Type): TurnRecord => ({
  ...row,
  ...(unitLimit === null ? {} : { unitLimit }),
  reservation: Option.fromNullable(reservationId)
}))

export const layer = Repository.layerEffect(
  TurnRepository,
  Effect.map(Effect.all([SqlClient, makeDirectly, makeRequestGroups]), ([sql, directly, groupRequests]) => {
    // A failed statement may have counted its changes, so they are not repeated.
    const countInGroup = groupRequests(makeCallGroup(sql, directly, { waits: false }))
    const countAlone = executeAlone(makeCallGroup(sql, directly, { waits: true }))
    let changes = 0
    const columns = sql`reservation_id, own_keys_only, unit_limit, own_calls, platform_calls, open_calls, cost_micros, held_micros, call_begun`
    const isTurn = ({ agentId, turnId, userId }: AgentTurn) =>
      sql`id = ${toStorableText(turnId)} and user_id = ${userId} and agent_id = ${toStorableText(agentId)}`

    /** Whether the change is counted; in its own statement if the group skipped it. */
    const countCall = (turn: AgentTurn, change: Omit<CallChange, "id" | "turn">) =>
      Effect.suspend(() => {
        changes += 1
        const request = Object.assign({ id: String(changes), turn }, change)
        return Effect.flatMap(countInGroup(request), (counted) =>
          Option.isSome(counted) ? Effect.succeed(true) : Effect.map(countAlone(request), Option.isSome)
        )
      })

    return TurnRepository.of({
      begin: Effect.fnUntraced(function* (
        { agentId, turnId, userId }: AgentTurn,
        { ownKeysOnly, reservation, unitLimit }: TurnPayment,
        leaseUntil: DateTime.Utc
      ) {
        yield* execute(sql`
          insert into turns (id, user_id, agent_id, reservation_id, own_keys_only, unit_limit, lease_until)
          select ${toStorableText(turnId)}, owner_id, id, ${Option.getOrNull(reservation)}, ${ownKeysOnly}::boolean,
            ${unitLimit ?? null}::integer,
            ${yield* toDatabaseTime(sql, leaseUntil)}
          from agents where id = ${agentId} and owner_id = ${userId}`)
      }),
      find: Effect.fnUntraced(function* (turn: AgentTurn) {
        const found = directly(sql`select ${columns} from turns where ${isTurn(turn)}`)
        return toRecord(yield* decodeTurn(found))
      }),
      lock: Effect.fnUntraced(function* (turn: AgentTurn) {
        const found = yield* sql`select ${columns} from turns where ${isTurn(turn)} for update`.pipe(decodeTurn)
        return toRecord(found)
      }),
      beginCall: (turn: AgentTurn, { answerMicros, own, promptMicros }: CallCost, within?: UsdMicros) =>
        countCall(turn, {
          begins: true,
          ownCalls: own ? 1 : 0,
          platformCalls: own ? 0 : 1,
          costMicros: promptMicros,
          heldMicros: answerMicros,
          within: within ?? null
        }),
      endCall: flow(
        (
          turn: AgentTurn,
          { answerMicros, own, promptMicros }: CallCost,
          outcome: "failed" | { readonly costMicros: UsdMicros }
        ) => {
          const uncounted = outcome === "failed" ? -1 : 0
          return countCall(turn, {
            begins: false,
            ownCalls: own ? uncounted : 0,
            platformCalls: own ? 0 : uncounted,
            costMicros: (outcome === "failed" ? 0 : outcome.costMicros) - promptMicros,
            heldMicros: 0 - answerMicros,
            within: null
          })
        },
        Effect.asVoid
      ),
      isBusy: (agentId: AgentId) =>
        readExists(sql`
          select exists (select from turns where agent_id = ${agentId} and lease_until > now())`),
      raiseLimit: (turnId: string, units: number) =>
        execute(sql`update turns set unit_limit = unit_limit + ${units} where id = ${toStorableText(turnId)}`),
      // Skips locked turns, so that it takes part in no lock order.
      renewLeases: Effect.fnUntraced(function* (turnIds: ReadonlyArray<string>, leaseUntil: DateTime.Utc) {
        yield* execute(sql`
          update turns set lease_until = ${yield* toDatabaseTime(sql, leaseUntil)}
          where id in (
            select id from turns where ${sql.in("id", turnIds.map(toStorableText))} for update skip locked
          )`)
      }),
      requestStop: (turnIds: ReadonlyArray<string>) =>
        execute(sql`
          update turns set stop_requested = true
          where ${sql.in("id", turnIds.map(toStorableText))} and not stop_requested`),
      listStopRequested: Effect.fnUntraced(function* (turnIds: ReadonlyArray<string>) {
        const rows = yield* sql`
          select id from turns where ${sql.in("id", turnIds.map(toStorableText))} and stop_requested`.pipe(
          decodeRows(IdRow)
        )
        return Array.map(rows, ({ id }) => id)
      }),
      listAbandoned: Effect.fnUntraced(function* (now: DateTime.Utc) {
        const rows = yield* sql`
          select id from turns where lease_until < ${yield* toDatabaseTime(sql, now)} order by lease_until limit 1000`.pipe(
          decodeRows(IdRow)
        )
        return Array.map(rows, ({ id }) => id)
      }),
      end: Effect.fnUntraced(function* (turnId: string, abandonedAt?: DateTime.Utc) {
        const expired =
          abandonedAt === undefined ? sql`` : sql`and lease_until < ${yield* toDatabaseTime(sql, abandonedAt)}`
        const ended = directly(sql`
          delete from turns where id = ${toStorableText(turnId)} ${expired} returning ${columns}`)
        return toRecord(yield* decodeTurn(ended))
      })
    })
  })
)
