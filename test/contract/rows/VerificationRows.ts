import type { AppCall } from "../../support/TestApp.ts"
import type { ErrorRow } from "../ErrorRow.ts"
import { ofOneAgent } from "./AgentDetailRows.ts"

const at = (
  route: ErrorRow["route"],
  when: string,
  { query = "", ...call }: Partial<AppCall> & { readonly query?: string },
  more: Partial<Pick<ErrorRow, "status" | "code" | "fields">>
): ErrorRow => ({
  when,
  route,
  call: ({ owner }) => ({
    as: owner,
    path: `${(route.split(" ")[1] ?? "").replace(":id", owner.agent.id)}${query}`,
    ...call
  }),
  status: 400,
  code: "invalid_request",
  ...more
})

const verify = "POST /api/agents/:id/verify"
const claim = (when: string, json: unknown, ...fields: ReadonlyArray<string>) => at(verify, when, { json }, { fields })
const challenge = (when: string, query: string) =>
  at("GET /api/agents/:id/verify", when, { query }, { fields: ["type"] })

const walletAddress = `0x${"ab".repeat(20)}`

/** A well-formed claim that fails. */
const failed = (when: string, json: unknown, status = 400, code = "verification_rejected") =>
  at(verify, when, { json }, { status, code })

export const verificationRows: ReadonlyArray<ErrorRow> = [
  ...ofOneAgent("GET /api/agents/:id/verify"),
  ...ofOneAgent("POST /api/agents/:id/verify", { json: {} }),
  ...ofOneAgent("GET /api/agents/:id/verification"),
  ...ofOneAgent("GET /api/agents/:id/verification/evidence"),
  ...ofOneAgent("DELETE /api/agents/:id/verify"),
  ...ofOneAgent("POST /api/agents/:id/verify/webauthn"),
  challenge("no type is named", ""),
  challenge("the type is unknown", "?type=passport"),
  claim("nothing is given", {}, "verificationType"),
  claim("the type is unknown", { verificationType: "passport" }, "verificationType"),
  claim("eas lacks the attestation", { verificationType: "eas" }, "attestationUid"),
  claim("the attestation is no UID", { verificationType: "eas", attestationUid: "0x12" }, "attestationUid"),
  claim("coinbase lacks the signature", { verificationType: "coinbase" }, "signature"),
  claim("ens lacks both fields", { verificationType: "ens" }, "walletAddress", "signature"),
  claim(
    "the wallet is no address",
    { verificationType: "ens", walletAddress: "ada.eth", signature: "0x00" },
    "walletAddress"
  ),
  claim("webauthn has an empty signature", { verificationType: "webauthn", signature: "" }, "signature"),
  failed("no challenge for coinbase is open", { verificationType: "coinbase", signature: "0x00" }),
  failed("no challenge for ens is open", { verificationType: "ens", walletAddress, signature: "0x00" }),
  failed("no challenge for webauthn is open", { verificationType: "webauthn", signature: "e30" }),
  failed(
    "the chain is unreachable",
    { verificationType: "eas", attestationUid: `0x${"ab".repeat(32)}` },
    500,
    "verification_unavailable"
  ),
  at(
    "POST /api/agents/:id/verify/webauthn",
    "the credential is no text",
    { json: { credential: {} } },
    { fields: ["credential"] }
  )
]
