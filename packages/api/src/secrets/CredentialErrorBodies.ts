import { CredentialInvalid, CredentialKey, CredentialKeyUnknown } from "@berth/domain/secrets/Credential"
import { errorBody, plainErrorBody } from "../http/ErrorBody.ts"

export const CredentialKeyUnknownBody = plainErrorBody(CredentialKeyUnknown, {
  status: 400,
  error: "Unknown credential",
  message: `key: must be one of ${CredentialKey.literals.join(", ")}.`
})
export const CredentialInvalidBody = errorBody(CredentialInvalid, {
  status: 400,
  error: "Invalid credential",
  message: ({ reason }) => `value: ${reason}`,
  example: new CredentialInvalid({ reason: "must not be empty." }),
  read: (message) => new CredentialInvalid({ reason: message.replace(/^value: /, "") })
})
