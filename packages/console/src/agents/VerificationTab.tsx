import { Button, Code, Group } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { call } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { chains, type Provider, signText } from "../pages/Wallet.ts"
import { Form, TextField, useForm } from "../Form.tsx"
import { Fact, Loaded, Moment, Section, StatusTag, useAction } from "../parts.tsx"
import { agentPath, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import { WalletButtons } from "../WalletButtons.tsx"
import type { VerificationEvidenceJson, VerificationJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"
import { createPasskey, signWithPasskey } from "./Passkeys.ts"

const { verification } = texts

const useVerification = (agentId: string) => {
  const path = agentPath(agentId, "/verify")
  const refresh = useRefresh()
  return {
    refresh: () => refresh("agent", agentId),
    readChallenge: async (type: string) =>
      (await call<{ readonly message: string }>("GET", path, { query: { type } })).message,
    verify: (verificationType: string, fields: Readonly<Record<string, string>>) =>
      call("POST", path, { body: { verificationType, ...fields } }),
    remove: async () => {
      await call("DELETE", path)
      await refresh("agent", agentId)
    },
    registerPasskey: async () => {
      const { options } = await call<{ readonly options: unknown }>("POST", `${path}/webauthn`, { body: {} })
      await call("POST", `${path}/webauthn`, { body: { credential: await createPasskey(options) } })
    }
  }
}

type Verifying = ReturnType<typeof useVerification>

const Passkey = ({ verifying }: { readonly verifying: Verifying }) => {
  const register = useAction(verifying.registerPasskey, { done: verification.passkeyRegistered })
  const verify = useAction(
    async () =>
      verifying.verify("webauthn", { signature: await signWithPasskey(await verifying.readChallenge("webauthn")) }),
    { done: verification.verified, onDone: verifying.refresh }
  )
  return (
    <Section title={verification.passkey} lead={verification.passkeyLead}>
      <Group gap="xs">
        <Button variant="default" loading={register.isPending} onClick={() => register.mutate()}>
          {verification.registerPasskey}
        </Button>
        <Button loading={verify.isPending} onClick={() => verify.mutate()}>
          {verification.verifyByPasskey}
        </Button>
      </Group>
    </Section>
  )
}

const signatures = {
  ens: async (provider: Provider, { readChallenge, verify }: Verifying) => {
    const { address, signature } = await signText(provider, chains.ethereum, () => readChallenge("ens"))
    return verify("ens", { walletAddress: address, signature })
  },
  coinbase: async (provider: Provider, { readChallenge, verify }: Verifying) => {
    const { signature } = await signText(provider, chains.base, () => readChallenge("coinbase"))
    return verify("coinbase", { signature })
  }
}

const Attestation = ({ verifying }: { readonly verifying: Verifying }) => {
  const form = useForm(
    { attestationUid: "" },
    ({ attestationUid }) => verifying.verify("eas", { attestationUid: attestationUid.trim() }),
    { done: verification.verified, onDone: verifying.refresh }
  )
  return (
    <Section title={verification.attestation} lead={verification.attestationLead}>
      <Form form={form} label={verification.verify} variant="default" maw={620}>
        <TextField
          field={form.field("attestationUid")}
          label={verification.attestationUid}
          required
          spellCheck={false}
          placeholder="0x…"
        />
      </Form>
    </Section>
  )
}

/** Whether the agent is verified, and the available methods. */
const VerificationTab = ({ agent: { id } }: AgentTab) => {
  const verifying = useVerification(id)
  const query = useQuery({
    queryKey: ["agent", id, "verification"],
    queryFn: async ({ signal }) => {
      const [record, evidence] = await Promise.all([
        call<VerificationJson>("GET", agentPath(id, "/verification"), { signal }),
        call<VerificationEvidenceJson>("GET", agentPath(id, "/verification/evidence"), { signal })
      ])
      return { ...record, ...evidence }
    }
  })
  return (
    <>
      <Section title={verification.title} lead={verification.lead}>
        <Loaded query={query}>
          {({ attestationUid, ensName, verificationType, verified, verifiedAt, walletAddress }) => (
            <>
              <dl className="facts">
                <Fact label={verification.state}>
                  <StatusTag value={verified ? "verified" : "unverified"} />
                </Fact>
                <Fact label={verification.method}>
                  {verificationType !== null && verification.methods[verificationType]}
                </Fact>
                <Fact label={verification.name}>{ensName}</Fact>
                <Fact label={verification.wallet}>{walletAddress !== null && <Code>{walletAddress}</Code>}</Fact>
                <Fact label={verification.attestation}>{attestationUid !== null && <Code>{attestationUid}</Code>}</Fact>
                <Fact label={verification.since}>{verifiedAt !== null && <Moment at={verifiedAt} />}</Fact>
              </dl>
              {verified && (
                <Group mt="md">
                  <ConfirmButton
                    label={verification.remove}
                    title={verification.remove}
                    message={verification.removeLead}
                    onConfirm={verifying.remove}
                  />
                </Group>
              )}
            </>
          )}
        </Loaded>
      </Section>
      <Passkey verifying={verifying} />
      {(["ens", "coinbase"] as const).map((type) => (
        <Section key={type} title={verification.methods[type]} lead={verification.walletLeads[type]}>
          <WalletButtons
            labelOf={verification.signWith}
            work={(provider) => signatures[type](provider, verifying)}
            done={verification.verified}
            onDone={verifying.refresh}
          />
        </Section>
      ))}
      <Attestation verifying={verifying} />
    </>
  )
}

export default VerificationTab
