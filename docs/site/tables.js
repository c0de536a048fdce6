// Labels the cells of wide tables, so that small screens can show each row as a list (see site.css).
for (const table of document.querySelectorAll('main table')) {
    const labels = Array.from(table.querySelectorAll('thead th'), (head) => head.textContent.trim());
    if (labels.length < 4) {
        continue;
    }
    table.classList.add('wide');
    for (const row of table.querySelectorAll('tbody tr')) {
        Array.from(row.cells).forEach((cell, index) => cell.setAttribute('data-label', labels[index] || ''));
    }
}
