import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core"

const harbor: MantineColorsTuple = [
  "#eaf4fb",
  "#d5e7f4",
  "#aacfe8",
  "#7cb5dc",
  "#559fd1",
  "#3c91ca",
  "#2a86c5",
  "#1a6ea8",
  "#0c5f95",
  "#03507f"
]

/** The neutral colors of the dark scheme, from text to the page. */
const dark: MantineColorsTuple = [
  "#e4e6e9",
  "#c3c8ce",
  "#a4abb4",
  "#8f97a1",
  "#363b43",
  "#2b2f36",
  "#21242a",
  "#181a1f",
  "#13151a",
  "#101215"
]

export const theme = createTheme({
  primaryColor: "harbor",
  primaryShade: 7,
  colors: { dark, harbor },
  defaultRadius: "md",
  fontFamily: "Inter, ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace",
  headings: { fontWeight: "600" },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Badge: { styles: { label: { textTransform: "none" as const, fontWeight: 500 } } },
    // Lists and menus open inside of a landmark.
    Popover: { defaultProps: { portalProps: { target: "#main" } } },
    // The list of options scrolls by itself, as its keyboard navigation expects.
    Select: { defaultProps: { withScrollArea: false } },
    MultiSelect: { defaultProps: { withScrollArea: false } },
    // A menu contains only its items, and the first one gets the focus.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 400 } },
    // A dialog's header must not have the landmark role `banner`.
    ModalHeader: { defaultProps: { role: "presentation" } },
    DrawerHeader: { defaultProps: { role: "presentation" } },
    Modal: {
      defaultProps: { centered: true, radius: "lg", closeButtonProps: { "aria-label": "Close" } },
      styles: { title: { fontWeight: 600, lineHeight: 1.35 } }
    }
  }
})

/** Keeps a contrast of 4.5:1 for muted text on every surface. */
export const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#5a626b",
    "--mantine-color-placeholder": "#6b737c",
    "--berth-canvas": "#f7f8f9",
    "--berth-surface": "#ffffff",
    "--berth-border": "#e3e6e9",
    "--berth-subtle": "#f1f3f5",
    "--berth-accent-text": "#0c5f95",
    "--berth-good": "#1b6e3c",
    "--berth-good-surface": "#e4f5ea",
    "--berth-busy": "#7a4d00",
    "--berth-busy-surface": "#fdf1d8",
    "--berth-bad": "#a61b1b",
    "--berth-bad-surface": "#fdeaea",
    "--mantine-color-error": "#b42318"
  },
  dark: {
    "--mantine-color-body": "#16181c",
    "--mantine-color-text": "#e4e6e9",
    "--mantine-color-dimmed": "#a4abb4",
    "--mantine-color-placeholder": "#8f97a1",
    "--mantine-color-default": "#1e2126",
    "--mantine-color-default-border": "#363b43",
    "--mantine-color-anchor": "#7cb5dc",
    "--berth-canvas": "#101215",
    "--berth-surface": "#181a1f",
    "--berth-border": "#2b2f36",
    "--berth-subtle": "#21242a",
    "--berth-accent-text": "#8cc2e6",
    "--berth-good": "#86dba5",
    "--berth-good-surface": "#12301d",
    "--berth-busy": "#f2c56b",
    "--berth-busy-surface": "#35280d",
    "--berth-bad": "#ff9d96",
    "--berth-bad-surface": "#3a1717",
    "--mantine-color-error": "#ff9d96"
  }
})
