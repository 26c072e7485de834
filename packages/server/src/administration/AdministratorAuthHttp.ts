import { AdministratorAuth } from "@berth/api/administration/AdministratorAuth"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { AdministratorRequired } from "@berth/domain/administration/AdministrationErrors"
import { Effect, Layer } from "effect"
import { RequestSession } from "../http/RequestSession.ts"

export const layer = Layer.effect(
  AdministratorAuth,
  Effect.gen(function* () {
    const session = yield* RequestSession
    const administrators = yield* Administrators
    const require = Effect.filterOrFail(
      session.require,
      ({ user }) => administrators.includes(user),
      () => new AdministratorRequired()
    )
    return AdministratorAuth.of({ session: () => require })
  })
)
