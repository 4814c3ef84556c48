for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(other => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const body = table.tBodies[0];
    [...body.rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)], [p, q] = [Number(x), Number(y)];
      const numbers = x !== "" && y !== "" && !Number.isNaN(p) && !Number.isNaN(q);
      return (up ? 1 : -1) * (numbers ? p - q : x.localeCompare(y, "en"));
    }).forEach(row => body.append(row));
  }));
}
