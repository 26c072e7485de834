import { useComputedColorScheme, useMantineColorScheme } from "@mantine/core"
import { send } from "../api.ts"
import { notifyFailure } from "../parts.tsx"

export const signOut = () => {
  send("POST", "/api/auth/signout").then(() => location.assign("/login"), notifyFailure)
}

/** Switches between light and dark; the choice is stored in this browser. */
export const useThemeSwitch = () => {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false })
  return { scheme, toggle: () => setColorScheme(scheme === "dark" ? "light" : "dark") }
}
