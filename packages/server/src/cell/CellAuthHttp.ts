import { CellAuth, CellTokenIsWrong } from "@berth/api/cell/CellModelApi"
import { Caller } from "@berth/domain/sessions/Caller"
import { CellTokens } from "@berth/domain/instances/CellTokens"
import { Effect, Layer, Option } from "effect"
import { bearerToken } from "../http/InternalAuthHttp.ts"

export const layer = Layer.effect(
  CellAuth,
  Effect.map(CellTokens, (tokens) =>
    CellAuth.of({
      cell: () =>
        bearerToken.pipe(
          Effect.flatMap(
            Option.match({ onNone: () => Effect.succeedNone, onSome: (token) => tokens.findOwner(token) })
          ),
          Effect.flatMap(Effect.mapError(() => new CellTokenIsWrong())),
          Effect.tap((owner) => Effect.flatMap(Caller, ({ identify }) => identify(owner)))
        )
    })
  )
)
