import { findWallets, type FoundWallet, signProof, WalletRejected } from "../pages/Wallet.ts"
import { Button, Group, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { call, RequestFailed } from "../api.ts"
import { ConfirmButton, Copy, Empty, Loaded, Moment, Section, useAction } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { WalletsJson } from "../wire.ts"

const readNonce = async () => (await call<{ readonly nonce: string }>("GET", "/api/auth/nonce")).nonce

const link = async ({ provider }: FoundWallet) => {
  const site = { domain: new URL(settings.appUrl).host, uri: settings.appUrl }
  const proof = await signProof(provider, site, texts.account.walletStatement, readNonce).catch((cause: unknown) => {
    throw cause instanceof WalletRejected ? new RequestFailed(cause.message, { status: 400 }) : cause
  })
  await call("POST", "/api/settings/wallets", { body: proof })
}

/** A button for each wallet of this browser. */
const LinkWallet = () => {
  const [found, setFound] = useState<ReadonlyArray<FoundWallet>>([])
  const refresh = useRefresh()
  useEffect(() => {
    const wallets: Array<FoundWallet> = []
    return findWallets((wallet) => {
      wallets.push(wallet)
      setFound([...wallets])
    })
  }, [])
  const action = useAction(link, { done: texts.account.walletLinked, onDone: () => refresh("wallets") })
  return (
    <Group gap="xs" mt="md">
      {found.length === 0 && (
        <Text fz="sm" c="dimmed">
          {texts.account.noWalletExtension}
        </Text>
      )}
      {found.map((wallet) => (
        <Button
          key={wallet.name}
          variant="default"
          loading={action.isPending && action.variables.provider === wallet.provider}
          onClick={() => action.mutate(wallet)}
        >
          {texts.account.linkNamed(wallet.name)}
        </Button>
      ))}
    </Group>
  )
}

const WalletsSection = () => {
  const refresh = useRefresh()
  const query = useQuery({
    queryKey: ["wallets"],
    queryFn: ({ signal }) => call<WalletsJson>("GET", "/api/settings/wallets", { signal })
  })
  return (
    <Section title={texts.account.tabs.wallets} lead={texts.account.walletsLead}>
      <Loaded query={query}>
        {({ wallets }) =>
          wallets.length === 0 ? (
            <Empty title={texts.account.noWallets}>{texts.account.noWalletsHint}</Empty>
          ) : (
            <ul className="rows">
              {wallets.map(({ address, linkedAt }) => (
                <li key={address}>
                  <div className="row-text">
                    <Group gap={4} wrap="nowrap">
                      <code className="truncate">{address}</code>
                      <Copy value={address} label={texts.copy} />
                    </Group>
                    <Text fz="sm" c="dimmed">
                      <Moment at={linkedAt} />
                    </Text>
                  </div>
                  <ConfirmButton
                    label={texts.account.unlink}
                    title={texts.account.unlink}
                    message={texts.account.unlinkLead}
                    onConfirm={async () => {
                      await call("DELETE", "/api/settings/wallets", { query: { address } })
                      await refresh("wallets")
                    }}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <LinkWallet />
    </Section>
  )
}

export default WalletsSection
