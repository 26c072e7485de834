import { CellAuth, CellTokenIsWrong } from "@berth/api/cell/CellModelApi"
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
          Effect.flatMap(Effect.mapError(() => new CellTokenIsWrong()))
        )
    })
  )
)
