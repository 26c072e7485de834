import type { Agent } from "@berth/domain/agents/Agent"
import type { VerificationType } from "@berth/domain/agents/AgentVerifications"
import type { Verification } from "@berth/domain/verification/Verification"
import { DateTime, Option } from "effect"
import { type Html, html } from "./Html.ts"
import { renderStatusLine, renderWithScript } from "./Layout.ts"

export interface VerificationPage {
  readonly agent: Agent
  readonly verification: Option.Option<Verification>
}

const typeLabels: Readonly<Record<VerificationType, string>> = {
  eas: "an attestation",
  coinbase: "a Coinbase account",
  ens: "an ENS name",
  webauthn: "a passkey"
}

const renderState = (verification: Option.Option<Verification>): Html =>
  Option.match(verification, {
    onNone: () => html`<p>This agent is <strong>not verified</strong>.</p>`,
    onSome: ({ attestationUid, ensName, type, verifiedAt, walletAddress }) => html`
      <p>This agent is <strong>verified</strong> by ${typeLabels[type]}.</p>
      <dl class="facts">
        <dt>Since</dt>
        <dd><time datetime="${DateTime.formatIso(verifiedAt)}">${DateTime.formatIsoDateUtc(verifiedAt)}</time></dd>
        ${
          ensName !== null &&
          html`<dt>Name</dt>
            <dd>${ensName}</dd>`
        }
        ${
          walletAddress !== null &&
          html`<dt>Wallet</dt>
            <dd><code>${walletAddress}</code></dd>`
        }
        ${
          attestationUid !== null &&
          html`<dt>Attestation</dt>
            <dd><code>${attestationUid}</code></dd>`
        }
      </dl>
      <p data-needs-script hidden><button class="quiet" id="unverify">Remove the verification</button></p>
      ${renderStatusLine("unverify-status")}
    `
  })

const walletSection = (type: "coinbase" | "ens", title: string, explanation: string): Html => html`
  <section aria-labelledby="${type}-title">
    <h2 id="${type}-title">${title}</h2>
    <p>${explanation}</p>
    ${renderWithScript(
      "Signing with a wallet",
      html`<div id="${type}-wallets">
          <ul class="choices"></ul>
          <p class="muted">No wallet extension was found in this browser.</p>
        </div>
        ${renderStatusLine(`${type}-status`)}`
    )}
  </section>
`

/** `/dashboard/agents/:id/verification`: verifies an agent of the user. */
export const renderVerificationPage = ({ agent, verification }: VerificationPage): Html => html`
  <div id="verification" data-agent="${agent.id}">
    <p><a href="/dashboard">Back to the dashboard</a></p>
    <h1>Verification of ${agent.name}</h1>
    ${renderState(verification)}
    <section aria-labelledby="webauthn-title">
      <h2 id="webauthn-title">Passkey</h2>
      <p>Register a passkey of this device or a security key for this agent, then sign with it.</p>
      ${renderWithScript(
        "Using a passkey",
        html`<div class="actions">
            <button id="register-passkey">Register a passkey</button>
            <button class="primary" id="verify-passkey">Verify with a passkey</button>
          </div>
          ${renderStatusLine("webauthn-status")}`
      )}
    </section>
    ${walletSection("ens", "ENS name", "The wallet's primary name must resolve to the wallet.")}
    ${walletSection("coinbase", "Coinbase account", "The wallet must be linked to your account here, and verified by Coinbase.")}
    <section aria-labelledby="eas-title">
      <h2 id="eas-title">Attestation</h2>
      <p>An attestation of the Ethereum Attestation Service on Base, for a wallet that is linked to your account.</p>
      ${renderWithScript(
        "Verifying an attestation",
        html`<form class="stack" id="eas-form">
            <label>
              UID of the attestation
              <input name="attestationUid" required autocomplete="off" spellcheck="false" placeholder="0x&hellip;" />
            </label>
            <button>Verify</button>
          </form>
          ${renderStatusLine("eas-status")}`
      )}
    </section>
  </div>
`
