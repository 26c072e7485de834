import { AdministratorAuth } from "@berth/api/administration/AdministratorAuth"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { AdministratorRequired } from "@berth/domain/administration/AdministrationErrors"
import { Effect, Layer } from "effect"
import { RequestCredentials } from "../http/RequestCredentials.ts"

export const layer = Layer.effect(
  AdministratorAuth,
  Effect.gen(function* () {
    const credentials = yield* RequestCredentials
    const administrators = yield* Administrators
    const require = Effect.filterOrFail(
      credentials.require,
      ({ user }) => administrators.includes(user),
      () => new AdministratorRequired()
    )
    return AdministratorAuth.of({ session: () => require })
  })
)
