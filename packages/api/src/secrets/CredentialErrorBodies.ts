import { CredentialInvalid, CredentialKey, CredentialKeyUnknown } from "@berth/domain/secrets/Credential"
import { plainErrorBody, reasonErrorBody } from "../http/ErrorBody.ts"

export const CredentialKeyUnknownBody = plainErrorBody(CredentialKeyUnknown, {
  status: 400,
  error: "Unknown credential",
  message: `key: must be one of ${CredentialKey.literals.join(", ")}.`
})
export const CredentialInvalidBody = reasonErrorBody(CredentialInvalid, {
  status: 400,
  error: "Invalid credential",
  prefix: "value: ",
  example: "must not be empty."
})
