/* Applies the color scheme that the user chose in the console, before the first paint. */

const scheme = localStorage.getItem("mantine-color-scheme-value")
if (scheme === "light" || scheme === "dark") document.documentElement.style.colorScheme = scheme

export {}
