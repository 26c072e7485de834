import { Code, Group, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { call } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { type Provider, signProof } from "../pages/Wallet.ts"
import { Copy, Empty, Moment, Rows, Section } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { WalletButtons } from "../WalletButtons.tsx"
import type { WalletsJson } from "../wire.ts"

const readNonce = async () => (await call<{ readonly nonce: string }>("GET", "/api/auth/nonce")).nonce

const link = async (provider: Provider) => {
  const site = { domain: new URL(settings.appUrl).host, uri: settings.appUrl }
  const proof = await signProof(provider, site, texts.account.walletStatement, readNonce)
  await call("POST", "/api/settings/wallets", { body: proof })
}

const WalletsSection = () => {
  const refresh = useRefresh()
  const query = useQuery({
    queryKey: ["wallets"],
    queryFn: ({ signal }) => call<WalletsJson>("GET", "/api/settings/wallets", { signal })
  })
  return (
    <Section title={texts.account.tabs.wallets} lead={texts.account.walletsLead}>
      <Rows
        query={query}
        read={({ wallets }) => wallets}
        empty={<Empty title={texts.account.noWallets}>{texts.account.noWalletsHint}</Empty>}
      >
        {({ address, linkedAt }) => (
          <li key={address}>
            <div className="row-text">
              <Group gap={4} wrap="nowrap">
                <Code className="truncate" fz="sm">
                  {address}
                </Code>
                <Copy value={address} label={texts.copy} />
              </Group>
              <Text fz="sm" c="dimmed">
                {texts.account.linkedAt} <Moment at={linkedAt} />
              </Text>
            </div>
            <ConfirmButton
              label={texts.account.unlink}
              title={texts.account.unlinkTitle}
              message={texts.account.unlinkLead}
              onConfirm={async () => {
                await call("DELETE", "/api/settings/wallets", { query: { address } })
                await refresh("wallets")
              }}
            />
          </li>
        )}
      </Rows>
      <WalletButtons
        labelOf={texts.account.linkNamed}
        work={link}
        done={texts.account.walletLinked}
        onDone={() => refresh("wallets")}
      />
    </Section>
  )
}

export default WalletsSection
